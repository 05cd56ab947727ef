/** CONTRIBUTING.md, "Debugging": the command that reads the events of a failing flow prints what the page says. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runHere } from '../../packages/cli/test/support/in-process.ts';
import { startCommand } from '../support/protect.ts';

const section = /^## Debugging\n(.*?)^## /ms.exec(readFileSync('CONTRIBUTING.md', 'utf8'))?.[1] ?? '';
const command = /^npm run -s portcullis -- (events .*) \S+$/m.exec(section)?.[1]?.split(' ') ?? [];

it('the command of CONTRIBUTING.md prints the event of a failing flow by the reference code of its page', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-debugging-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const database = join(folder, 'portcullis.db');
  const server = await startCommand(['up', '--app', join(process.cwd(), 'examples/notes/src/app.ts')], {
    PORTCULLIS_DATABASE: database,
  });
  onTestFinished(async () => void (await server.stop()));
  const page = await (await fetch(`${server.url}/authorize?client_id=unknown&response_type=code`)).text();
  const reference = /\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(page)?.[0] ?? '';
  expect(reference).not.toBe('');
  const read = async () =>
    (await runHere([...command, reference, '--database', database], { folder, environment: {} })).output;
  await expect.poll(read).toContain('request.rejected');
  const [line = ''] = (await read()).split('\n').filter((text) => text.includes('request.rejected'));
  expect(line).toContain('reason=');
  // Standard output has the same event.
  await expect.poll(server.output).toContain('request.rejected');
});

it('the events and options of CONTRIBUTING.md are documented', async () => {
  const events = readFileSync('docs/events.md', 'utf8');
  for (const [, name = ''] of section.matchAll(/`([a-z_]+\.[a-z_]+)`/g))
    expect(events).toContain(`\`${name}\``);
  const { output } = await runHere(['events', '--help'], { folder: tmpdir(), environment: {} });
  const own = section.slice(section.indexOf('A flow that fails'));
  for (const [, option = ''] of own.matchAll(/`(--[a-z]+)`/g)) expect(output).toContain(option);
});
