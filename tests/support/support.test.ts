/** Test support: the database responds, and the browser opens a page. */
import { createServer } from 'node:http';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { launchChromium } from './browser.ts';
import { startPostgres } from './postgres.ts';

it('provides an empty PostgreSQL database per test', async () => {
  const postgres = await startPostgres();
  const url = await postgres.createDatabase();
  expect(await postgres.createDatabase()).not.toBe(url);
  const client = new Client({ connectionString: url });
  await client.connect();
  const tables = await client.query(`select 1 from information_schema.tables where table_schema = 'public'`);
  await client.end();
  expect(tables.rowCount).toBe(0);
  await postgres.stop();
});

it('opens a page in Chromium, with web security on', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.setHeader('content-security-policy', "script-src 'none'");
    response.end('<title>before</title><h1>Gate</h1><script>document.title = "after"</script>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    expect(await page.locator('h1').textContent()).toBe('Gate');
    expect(await page.title()).toBe('before');
  } finally {
    await browser.close();
    server.close();
  }
});
