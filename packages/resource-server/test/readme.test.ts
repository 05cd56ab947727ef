/** The README: its programs compile, those of the adapters run, and it names every entry of the package. */
import { execFile, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { beforeAll, expect, it, onTestFinished } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
let readme: string;

beforeAll(async () => {
  readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
});

/** The programs of the README. */
const programsOf = (text: string): string[] =>
  [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, program = '']) => program);

it('compiles the programs of the README', async () => {
  // Below node_modules, so that packages are found and nothing is committed.
  await mkdir(join(root, 'node_modules/.cache'), { recursive: true });
  const folder = await mkdtemp(join(root, 'node_modules/.cache/readme-'));
  try {
    const programs = programsOf(readme);
    expect(programs.length).toBeGreaterThan(10);
    const files = programs.map((program, index) => [`program-${index}.ts`, program] as const);
    for (const [name, program] of files) await writeFile(join(folder, name), program);
    const settings = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { isolatedDeclarations: false, declaration: false },
      include: [],
      exclude: [],
      files: files.map(([name]) => name),
    };
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
    const compiled = await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch(
      (error: { stdout?: string }) => ({ stdout: error.stdout ?? String(error) }),
    );
    expect(compiled.stdout).toBe('');
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('begins the README with a server in ten lines', () => {
  const [program = ''] = programsOf(readme);
  expect(program.trim().split('\n').filter(Boolean).length).toBeLessThanOrEqual(10);
});

it('names every entry of the package in the README', async () => {
  const { exports } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
    readonly exports: Readonly<Record<string, unknown>>;
  };
  for (const entry of Object.keys(exports).filter((name) => !['.', './package.json'].includes(name)))
    expect(readme).toContain(entry.slice(1));
});

/** The code that starts each program. */
const starts: Readonly<Record<string, string>> = {
  node: '',
  express: "const started = app.listen(0, '127.0.0.1', () => process.send(started.address().port));",
  fastify: "await app.listen({ port: 0, host: '127.0.0.1' }); process.send(app.server.address().port);",
  hono: `import { serve } from '@hono/node-server';
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send(port));`,
  koa: "const started = app.listen(0, '127.0.0.1', () => process.send(started.address().port));",
  fetch: `import { serve } from '@hono/node-server';
    serve({ ...program, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send(port));`,
};

/** Replaces the issuer, which does not exist. */
const ISSUER_ELSEWHERE = `globalThis.fetch = async (url) => Response.json({
  'https://auth.example.com/.well-known/oauth-authorization-server':
    { issuer: 'https://auth.example.com', jwks_uri: 'https://auth.example.com/jwks' },
  'https://auth.example.com/jwks': JSON.parse(process.env.KEYS),
}[url] ?? null);\n`;

it.each(Object.keys(starts))('[S-401-1] runs the README program for %s as printed', async (adapter) => {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] });
  const token = await new SignJWT({ client_id: 'test', scope: 'notes:read', jti: randomUUID() })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
    .setIssuer('https://auth.example.com')
    .setSubject('alice')
    .setAudience('https://mcp.example.com/mcp')
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey);
  const origin = await startProgram(adapter, keys);
  const send = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${origin}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{}',
    });
  const refused = await send({});
  const metadata = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';
  expect(refused.status).toBe(401);
  expect(refused.headers.get('www-authenticate')).toContain(`resource_metadata="${metadata}"`);
  const accepted = await send({ authorization: `Bearer ${token}` });
  expect([accepted.status, await accepted.text()]).toEqual([200, expect.stringContaining('alice')]);
  const document = await fetch(origin + new URL(metadata).pathname);
  expect(await document.json()).toMatchObject({ resource: 'https://mcp.example.com/mcp' });
});

/** Runs the first program of the README for an adapter, and returns its origin. */
async function startProgram(adapter: string, keys: string): Promise<string> {
  const program = programsOf(readme).find((text) =>
    text.includes(`'@portcullis/resource-server/${adapter}'`),
  );
  const text = stripTypeScriptTypes(program ?? '')
    .replace('.listen(8080)', '.listen(0, function () { process.send(this.address().port); })')
    .replace('export default', 'const program =');
  await mkdir(join(root, 'node_modules/.cache'), { recursive: true });
  const folder = await mkdtemp(join(root, 'node_modules/.cache/readme-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'program.mjs'), `${text}\n${starts[adapter]}`);
  await writeFile(join(folder, 'issuer.mjs'), ISSUER_ELSEWHERE);
  const child = fork(join(folder, 'program.mjs'), {
    execArgv: ['--conditions=portcullis-source', '--import', pathToFileURL(join(folder, 'issuer.mjs')).href],
    env: { ...process.env, KEYS: keys },
  });
  onTestFinished(() => void child.kill());
  const [port] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error('the program ended');
    }),
  ]);
  return `http://127.0.0.1:${port}`;
}
