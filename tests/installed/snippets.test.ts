/** Each program of the documents: type-checked, and run as it is written, as TypeScript and as JavaScript. */
import { generateKeyPairSync } from 'node:crypto';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { machineClient, requestMachineToken } from '../support/machine-client.ts';
import { owner } from '../support/portcullis.ts';
import { reservePort } from '../support/ports.ts';
import { injectProject } from './inject.ts';
import { root } from './project.ts';
import { readSnippets, write, writeSnippets } from './snippets.ts';
import { inMemory, runProgram, startProgram } from './start.ts';
import { startSystemBrowser } from './system-browser.ts';

const { project, missing } = injectProject();

const snippets = readSnippets(root);
const READY = /^ready (\S+)$/m;
const kinds = ['ts', 'js'] as const;

/** They need a server, a user or a test runner around them: those of packages are run below, those of pages compile. */
const FRAGMENTS =
  /^(?:README-\d|authorization-server-2|client-\d|store-2|(?:own-server|connect-a-client|configuration|identity-providers)-\d)$/;

/** What `programs/fragments.js` reads of them. */
const MADE = {
  'client-1': 'client, response, store',
  'client-2': 'transport',
  'client-3': 'work',
  'client-4': 'robot',
  'client-5': 'careful',
  'client-6': '',
  'client-7': 'result',
  'authorization-server-1': 'server',
  'authorization-server-2': 'verifier',
};

const machine = (scope: string) => JSON.stringify([{ ...machineClient, scope }]);

const withAccount = {
  ...inMemory,
  PORTCULLIS_BOOTSTRAP_EMAIL: owner.email,
  PORTCULLIS_BOOTSTRAP_PASSWORD: owner.password,
};

/** `npx portcullis up` with the example of the notes. */
async function startNotes(clients: readonly object[] = []) {
  await cp(join(root, 'examples/notes/src'), join(project.folder, 'notes'), { recursive: true });
  const environment = { ...withAccount, PORTCULLIS_CLIENTS: JSON.stringify(clients) };
  return startProgram(project, ['npx', 'portcullis', 'up', '--app', 'notes/app.ts'], READY, { environment });
}

describe.skipIf(missing).each(kinds)('the snippets as %s', (kind) => {
  beforeAll(async () => {
    await writeSnippets(project.folder, snippets);
  });

  it('pass the compiler', async () => {
    const { output } = await runProgram(project, ['npx', 'tsc', '--singleThreaded', '--project', kind]);
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

  it('the application of the guide runs behind `npx portcullis up --app`', async () => {
    const code = await readFile(join(project.folder, kind, `own-server-2.${kind}`), 'utf8');
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

  it('the client of the guide signs its user in and lists the tools', async () => {
    await using server = await startNotes();
    const folder = join(project.folder, `client-${kind}`);
    await using browser = await startSystemBrowser(folder, owner, project);
    const code = await readFile(join(project.folder, kind, `connect-a-client-1.${kind}`), 'utf8');
    await write(folder, `client.${kind}`, code.replaceAll('http://localhost:8484', server.found));
    const { environment } = browser;
    expect(await runProgram(project, ['node', `client.${kind}`], { folder, environment })).toMatchObject({
      code: 0,
      output: expect.stringContaining('whoami'),
    });
  });

  it('of the client and the authorization server run with a server and a user', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'key-1', alg: 'ES256' };
    const robot = {
      client_id: 'robot',
      client_name: 'Robot',
      redirect_uris: [],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'private_key_jwt',
      scope: 'notes:read',
      jwks: { keys: [jwk] },
    };
    await using server = await startNotes([robot]);
    const folder = join(project.folder, `fragments-${kind}`);
    await using browser = await startSystemBrowser(folder, owner, project);
    for (const [name, exported] of Object.entries(MADE)) {
      const code = await readFile(join(project.folder, kind, `${name}.${kind}`), 'utf8');
      const here = code
        .replaceAll('https://mcp.example/mcp', `${server.found}/mcp`)
        .replaceAll('https://as.example', server.found)
        .replaceAll('/home/ada/.config/notes/', `${folder}/`)
        .replaceAll('8484', '0');
      await write(folder, `${name}.${kind}`, `${here}export { ${exported} };\n`);
    }
    await cp(join(root, 'tests/installed/programs/fragments.js'), join(project.folder, 'fragments.js'));
    const environment = {
      ...browser.environment,
      ORIGIN: server.found,
      KEY: String(privateKey.export({ format: 'pem', type: 'pkcs8' })),
    };
    const { output } = await runProgram(project, ['node', 'fragments.js', folder, kind], { environment });
    expect(output).toMatch(/^made /m);
    expect(JSON.parse(/^made (.*)$/m.exec(output)?.[1] ?? '')).toEqual({
      fetch: 200,
      tools: 4,
      signedOut: null,
      robot: [200, ['notes:read']],
      careful: 200,
      page: ['https://app.example', 'user'],
      steps: 'tokens',
      verifier: ['https://auth.example'],
    });
  });

  it('of the store run the contract of stores under Vitest', async () => {
    const code = await readFile(join(project.folder, kind, `store-2.${kind}`), 'utf8');
    const program = `import { openStore } from '@portcullis/store';
      globalThis.openMyEmptyStore = () => openStore(':memory:');\n`;
    await write(
      project.folder,
      `contract-${kind}.test.js`,
      `${program}await import('./${kind}/store-2.${kind}');\n`,
    );
    const words = ['npx', 'vitest', 'run', `contract-${kind}`, '--reporter=dot'];
    const { code: status, output } = await runProgram(project, words);
    expect(output).toMatch(/Tests .*\d+ passed/);
    expect([status, code]).toEqual([0, expect.stringContaining('describeStoreContract')]);
  });
});
