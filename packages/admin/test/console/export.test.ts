/** The command by which the setup pages change a configuration file, run by a shell as an operator would. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { exportSection } from '../../src/console/setup/export.ts';
import type { Administration } from '../../src/operations/administration.ts';

const hasJq = spawnSync('jq', ['--version']).status === 0;
if (!hasJq) console.warn('skipped: jq is not installed');

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

/** The command on the page, as its copy button has it. */
function commandOf(file: string, list: 'servers' | 'identityProviders', entry: object): string | undefined {
  const admin = { configFile: file } as unknown as Administration;
  const page = String(exportSection(admin, list, entry, ''));
  const names = { amp: '&', lt: '<', gt: '>', quot: '"' };
  return [...page.matchAll(/data-copy="([^"]*)"/g)]
    .map(([, text = '']) =>
      text
        .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
        .replace(/&(amp|lt|gt|quot);/g, (_, name: keyof typeof names) => names[name]),
    )
    .find((text) => text.startsWith('jq '));
}

/** Whatever an operator types, and a name with everything that a shell reads. */
const ENTRY = {
  path: '/files',
  name: `It's "$(touch owned)" \`touch owned\` \\ & <b> ; é`,
  backend: { url: 'http://127.0.0.1:9/mcp' },
};

it.skipIf(!hasJq).each([
  ['servers', {}, [ENTRY]],
  ['servers', { servers: [{ path: '/wiki' }], port: 8484 }, [{ path: '/wiki' }, ENTRY]],
  ['identityProviders', { key: { variable: 'KEY' } }, [ENTRY]],
] as const)(
  'adds an entry to %s of %j, beside the file and without running anything else',
  async (list, before, after) => {
    const folder = await mkdtemp(join(tmpdir(), `portcullis export's-`));
    folders.push(folder);
    const file = join(folder, 'portcullis.json');
    const text = JSON.stringify(before);
    await writeFile(file, text);
    const command = commandOf(file, list, ENTRY) ?? expect.fail();
    await promisify(execFile)('sh', ['-c', command], { cwd: folder });
    expect(JSON.parse(await readFile(join(folder, 'portcullis.new.json'), 'utf8'))).toEqual({
      ...before,
      [list]: after,
    });
    expect(await readFile(file, 'utf8')).toBe(text);
    await expect(readFile(join(folder, 'owned'))).rejects.toThrow('ENOENT');
  },
);

it('is not shown for a file that is a module', () => {
  expect(commandOf('/srv/portcullis.config.ts', 'servers', ENTRY)).toBeUndefined();
});
