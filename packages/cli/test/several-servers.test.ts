/** What a gateway with several servers says of itself at startup. */
import { expect, it, onTestFinished } from 'vitest';
import { reservePort } from '../../../tests/support/ports.ts';
import { startCommand } from '../../../tests/support/protect.ts';

it('prints one metadata document for each of several servers, and its self-check finds all of them, also those with public tools', async () => {
  const port = await reservePort();
  const publicUrl = `http://localhost:${port}`;
  const running = await startCommand(['up', '--verbose'], {
    PORTCULLIS_PORT: String(port),
    PORTCULLIS_PUBLIC_URL: publicUrl,
    PORTCULLIS_SERVERS: JSON.stringify([
      { path: '/one', backend: { url: 'http://127.0.0.1:9/mcp' } },
      { path: '/two', backend: { url: 'http://127.0.0.1:9/mcp' } },
      { path: '/both', merges: { one: '/one', two: '/two' } },
      { path: '/shop', backend: { url: 'http://127.0.0.1:9/mcp' }, tools: { search: { public: true } } },
      { path: '/all', merges: { one: '/one', shop: '/shop' } },
    ]),
  });
  onTestFinished(async () => void (await running.stop()));
  await expect.poll(running.output).toMatch(/self_check\.(passed|failed)/);
  expect(running.output()).toContain('self_check.passed');
  const printed = running.output().match(/\S+oauth-protected-resource\S*/g);
  const root = `${publicUrl}/.well-known/oauth-protected-resource`;
  expect(printed).toEqual([`${root}/one`, `${root}/two`, `${root}/both`, `${root}/shop`, `${root}/all`]);
});
