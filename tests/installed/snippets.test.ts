/** Each TypeScript block of the READMEs: type-checked, and run as it is written, as TypeScript and as JavaScript. */
import { chmod, cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { machineClient, requestMachineToken } from '../support/machine-client.ts';
import { owner } from '../support/portcullis.ts';
import { reservePort } from '../support/ports.ts';
import { createUser } from '../support/user.ts';
import { injectProject } from './inject.ts';
import { root } from './project.ts';
import { readSnippets, write, writeSnippets } from './snippets.ts';
import { inMemory, runProgram, startProgram } from './start.ts';

const { project, missing } = injectProject();

const snippets = await readSnippets(root);
const READY = /^ready (\S+)$/m;
const kinds = ['ts', 'js'] as const;

/** Of a README of a package: it needs a server, a terminal or a test runner around it. Those of this repository's README are run below. */
const FRAGMENTS = /^(?:README-\d|authorization-server-2|client-\d|store-2)$/;

const machine = (scope: string) => JSON.stringify([{ ...machineClient, scope }]);

describe.skipIf(missing).each(kinds)('the snippets as %s', (kind) => {
  beforeAll(async () => {
    await writeSnippets(project.folder, snippets);
  });

  it('pass the compiler', async () => {
    const { output } = await runProgram(project, ['npx', 'tsc', '--project', kind]);
    // Types of other packages may contradict each other.
    expect(output.split('\n').filter((line) => !/^node_modules\/(?!@portcullis\/)|^$/.test(line))).toEqual(
      [],
    );
  });

  it('of the packages run', async () => {
    const whole = snippets.filter(({ name }) => !FRAGMENTS.test(name));
    expect(whole.length).toBeGreaterThan(20);
    const folder = `run-${kind}`;
    for (const { name } of whole) {
      const text = await readFile(join(project.folder, kind, `${name}.${kind}`), 'utf8');
      await write(
        project.folder,
        `${folder}/${name}.${kind}`,
        text.replaceAll(/\b8080\b|\b8484\b(?=, host)/g, '0'),
      );
    }
    const files = whole.map(({ name }) => `./${folder}/${name}.${kind}`);
    const program = `
      globalThis.masterKey = new Uint8Array(32);
      globalThis.response = new Response();
      for (const file of ${JSON.stringify(files)}) await import(file);
      console.log('all');
      process.exit();`;
    await write(project.folder, `all-${kind}.js`, program);
    expect((await runProgram(project, ['node', `all-${kind}.js`])).output).toMatch(/^all$/m);
  });

  it('the guard of the README accepts tokens of `npx portcullis up`, and no other request', async () => {
    const port = await reservePort();
    const resource = `http://localhost:${port}/mcp`;
    const resources = JSON.stringify([{ resource, name: 'Greeter', scopes: { greet: 'Greet you by name' } }]);
    const settings = { ...inMemory, PORTCULLIS_RESOURCES: resources, PORTCULLIS_CLIENTS: machine('greet') };
    await using issuer = await startProgram(project, ['npx', 'portcullis', 'up'], READY, {
      environment: settings,
    });
    const code = await readFile(join(project.folder, kind, `README-1.${kind}`), 'utf8');
    const program = code.replaceAll('3000', String(port)).replaceAll('http://localhost:8484', issuer.found);
    await write(project.folder, `guard.${kind}`, `${program}console.log('running');\n`);
    await using _guard = await startProgram(project, ['node', `guard.${kind}`], /running/);
    await expect.poll(() => fetch(resource).catch(() => undefined)).toBeDefined();
    const headers = { authorization: `Bearer ${await requestMachineToken(issuer.found)}` };
    expect([(await fetch(resource)).status, await (await fetch(resource, { headers })).text()]).toEqual([
      401,
      'Hello, machine',
    ]);
  });

  it('the application of the README runs behind `npx portcullis up --app`', async () => {
    const code = await readFile(join(project.folder, kind, `README-2.${kind}`), 'utf8');
    await write(project.folder, `server.${kind}`, code);
    const environment = { ...inMemory, PORTCULLIS_CLIENTS: machine('greet') };
    const words = ['npx', 'portcullis', 'up', '--app', `server.${kind}`];
    await using server = await startProgram(project, words, READY, { environment });
    const headers = { authorization: `Bearer ${await requestMachineToken(server.found)}` };
    const resource = `${server.found}/mcp`;
    expect([(await fetch(resource)).status, await (await fetch(resource, { headers })).text()]).toEqual([
      401,
      'Hello, machine',
    ]);
  });

  it('the client of the README signs its user in and calls a tool', async () => {
    await cp(join(root, 'examples/notes/src'), join(project.folder, 'notes'), { recursive: true });
    const account = {
      PORTCULLIS_BOOTSTRAP_EMAIL: owner.email,
      PORTCULLIS_BOOTSTRAP_PASSWORD: owner.password,
    };
    const words = ['npx', 'portcullis', 'up', '--app', 'notes/app.ts'];
    await using server = await startProgram(project, words, READY, {
      environment: { ...inMemory, ...account },
    });
    const folder = join(project.folder, `client-${kind}`);
    const code = await readFile(join(project.folder, kind, `README-3.${kind}`), 'utf8');
    await write(folder, `client.${kind}`, code.replaceAll('http://localhost:8484', server.found));
    // The system's browser.
    await write(
      folder,
      'bin/xdg-open',
      `#!/bin/sh\necho "$1" > "${folder}/url.draft"\nmv "${folder}/url.draft" "${folder}/url"\n`,
    );
    await chmod(join(folder, 'bin/xdg-open'), 0o755);
    const environment = { PATH: `${join(folder, 'bin')}:${project.environment['PATH']}` };
    const running = runProgram(project, ['node', `client.${kind}`], { folder, environment });
    await expect.poll(() => readFile(join(folder, 'url'), 'utf8').catch(() => '')).not.toBe('');
    const answer = await createUser(owner).authorize((await readFile(join(folder, 'url'), 'utf8')).trim());
    expect((await fetch(answer)).status).toBe(200);
    expect(await running).toMatchObject({ code: 0, output: expect.stringContaining(owner.email) });
  });
});
