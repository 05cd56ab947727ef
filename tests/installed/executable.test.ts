/** The single executable: built, and run in an empty folder without Node. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildExecutable } from '../../scripts/executable.ts';
import { installPackages } from '../support/install.ts';
import { injectProject } from './inject.ts';
import { write } from './snippets.ts';
import { inMemory, runProgram, startProgram } from './start.ts';

const tools = await installPackages(fileURLToPath(new URL('.', import.meta.url)));
const { project, missing } = injectProject(tools);
const folder = join(project.folder, '../executable');
const program = join(folder, 'portcullis');
/** No Node, and a setting of Node that would break it if it were read. */
const environment = { PATH: '/nowhere', NODE_OPTIONS: '--require ./none.js', ...inMemory };
const READY = /^ready (\S+)$/m;

describe.skipIf(missing)('the single executable', () => {
  beforeAll(async () => {
    await mkdir(folder);
    await buildExecutable(tools.modules, program);
  }, 120_000);

  it('prints its version', async () => {
    const { version } = JSON.parse(
      await readFile(join(project.folder, 'node_modules/@portcullis/cli/package.json'), 'utf8'),
    );
    const { output } = await runProgram(project, [program, '--version'], { folder, environment });
    expect(output).toBe(`${version}\n`);
  });

  it('protects a server, and stops on SIGTERM', async () => {
    const words = [program, 'protect', '--verbose', 'http://127.0.0.1:9/mcp'];
    await using running = await startProgram(project, words, READY, { folder, environment });
    const challenge = await fetch(`${running.found}/mcp`, { method: 'POST', body: '{}' });
    expect([challenge.status, (await fetch(`${running.found}/readyz`)).status]).toEqual([401, 200]);
    expect(running.output()).toContain(`"command": "${program}"`);
  });

  it('runs other commands: users, config schema, doctor', async () => {
    const run = (...words: readonly string[]) =>
      runProgram(project, [program, ...words], { folder, environment });
    expect(JSON.parse((await run('config', 'schema')).output)).toHaveProperty('properties.servers');
    expect(await run('doctor', 'http://127.0.0.1:9/mcp')).toMatchObject({ code: 4 });
  });

  it('says that it cannot load a module of its user', async () => {
    await write(folder, 'server.js', 'export const app = {};');
    expect(await runProgram(project, [program, 'up', '--app', 'server.js'], { folder, environment })).toEqual(
      {
        code: 1,
        output: expect.stringContaining('the single executable loads no modules'),
      },
    );
  });

  it('lists the licences of what it contains', async () => {
    const text = await readFile(`${program}.licenses.txt`, 'utf8');
    for (const name of ['Node.js', 'hono', 'jose', 'pg', 'undici', 'zod'])
      expect(text).toMatch(new RegExp(`^${name}\\b`, 'm'));
    expect(text).not.toContain('no licence');
  });
});
