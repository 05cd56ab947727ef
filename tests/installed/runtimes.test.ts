/** The library packages in other runtimes, as installed: Node 22 and 26, Bun and Deno. */

import { cp } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installPackages } from '../support/install.ts';
import { machineClient } from '../support/machine-client.ts';
import { owner } from '../support/portcullis.ts';
import { createUser } from '../support/user.ts';
import { injectProject } from './inject.ts';
import { write } from './snippets.ts';
import { inMemory, type RunningProgram, runProgram, startProgram } from './start.ts';

const runtimes = await installPackages(fileURLToPath(new URL('.', import.meta.url)));
const { project, missing } = injectProject(runtimes);

const at = (path: string) => join(runtimes.modules, path);
const commands: Readonly<Record<string, readonly string[]>> = {
  'Node 22': [at('node-22/bin/node')],
  'Node 24': [process.execPath],
  'Node 26': [at('node-26/bin/node')],
  Bun: [at('.bin/bun'), 'run'],
  Deno: [at('.bin/deno'), 'run', '--allow-all', '--node-modules-dir=manual'],
};

const APPLICATION = `export const app = {
  name: 'Greeter',
  path: '/mcp',
  scopes: { 'mcp:read': 'Read' },
  create: async () => ({
    handle: async (_request, principal) => new Response('Hello, ' + principal.clientId),
    close: async () => {},
  }),
};
`;

describe.skipIf(missing)('in other runtimes', () => {
  let server: RunningProgram;

  beforeAll(async () => {
    await cp(fileURLToPath(new URL('programs', import.meta.url)), join(project.folder, 'programs'), {
      recursive: true,
    });
    await write(project.folder, 'programs/app.js', APPLICATION);
    const environment = {
      ...inMemory,
      PORTCULLIS_CLIENTS: JSON.stringify([{ ...machineClient, scope: 'mcp:read' }]),
      PORTCULLIS_BOOTSTRAP_EMAIL: owner.email,
      PORTCULLIS_BOOTSTRAP_PASSWORD: owner.password,
    };
    const words = ['npx', 'portcullis', 'up', '--app', 'programs/app.js'];
    server = await startProgram(project, words, /^ready (\S+)$/m, { environment });
  });

  afterAll(() => server?.[Symbol.asyncDispose]());

  describe.each(Object.keys(commands))('%s', (name) => {
    const command = commands[name] ?? [];

    it('the guard accepts a token for its resource, and rejects another or none', async () => {
      const { output } = await runProgram(project, [...command, 'programs/resource-server.js']);
      expect(output).toBe('["Hello, alice",401,401]\n');
    });

    it('the client signs a user in, and an application with a credential file', async () => {
      const file = join(dirname(project.folder), `${name}.credentials`);
      const words = [...command, 'programs/client.js', `${server.found}/mcp`, file];
      await using program = await startProgram(project, words, /^open (\S+)$/m);
      const answer = await createUser(owner).authorize(program.found);
      program.type(`${answer.href}\n`);
      const output = await program.ended();
      const [, results = `"${output}"`] = /^results (.*)$/m.exec(output) ?? [];
      expect(results).toMatch(/^\["Hello, [^"]+","Hello, machine"\]$/);
    });
  });

  it('the command on Node 22 says which Node it needs', async () => {
    const bin = join(project.folder, 'node_modules/.bin/portcullis');
    expect(await runProgram(project, [at('node-22/bin/node'), bin, '--version'])).toEqual({
      code: 1,
      output: expect.stringMatching(/^portcullis: needs Node 24\.7 or later, and this is Node 22\./),
    });
  });

  it('the command runs on Node 26', async () => {
    const bin = join(project.folder, 'node_modules/.bin/portcullis');
    const words = [at('node-26/bin/node'), bin, 'up', '--app', 'programs/app.js'];
    await using running = await startProgram(project, words, /^ready (\S+)$/m, { environment: inMemory });
    expect((await fetch(`${running.found}/readyz`)).status).toBe(200);
  });
});
