/** Three processes of `portcullis up` with the configuration of docs/guides/high-availability.md, and a server behind their gateway. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { reservePort } from '../support/ports.ts';
import { sourceFlags } from '../support/source-flags.ts';
import type { Access } from './browser.ts';
import { killWithUs } from './nodes.ts';
import { type AtEnd, send } from './servers.ts';
import { ACCOUNT, CALLBACK, credentialsOf, ISSUER } from './world.ts';

const main = fileURLToPath(new URL('../../packages/cli/bin.js', import.meta.url));
const page = readFileSync(new URL('../../docs/guides/high-availability.md', import.meta.url), 'utf8');

/** What clients request. */
export const ACCESS: Access = { resource: `${ISSUER}/mcp`, scope: 'calls:count' };

const METRICS_TOKEN = 'a token that only monitoring has, and long';

export interface Instance {
  readonly port: number;
  /** Types and reasons of what it logged about failures since the last time, with how often. */
  takeFailures(): ReadonlyMap<string, number>;
  metrics(): Promise<string>;
}

/** @param backend address of the server */
export async function startInstances(location: string, backend: string, atEnd: AtEnd): Promise<Instance[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-instances-'));
  atEnd(async () => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'portcullis.json'), JSON.stringify(configure(backend)));
  const database = new URL(location);
  const { password } = database;
  database.password = '';
  const start = () => startInstance(folder, database.href, password, atEnd);
  // The first creates the schema and the master key.
  return [await start(), ...(await Promise.all([start(), start()]))];
}

function configure(backend: string): object {
  const { freshness } = JSON.parse(/^```json\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? '');
  const { client_id, client_secret } = credentialsOf('web');
  const client = {
    client_id,
    client_secret,
    token_endpoint_auth_method: 'client_secret_post',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    scope: ACCESS.scope,
  };
  const server = {
    path: '/mcp',
    backend: { url: backend },
    scopes: { [ACCESS.scope]: 'Count calls' },
    tools: { '*': [ACCESS.scope] },
    review: 'auto',
    limits: { callsPerMinute: false },
  };
  return {
    publicUrl: ISSUER,
    freshness,
    clients: [client],
    servers: [server],
    rateLimits: false,
    log: 'json',
  };
}

async function startInstance(
  folder: string,
  database: string,
  password: string,
  atEnd: AtEnd,
): Promise<Instance> {
  const port = await reservePort();
  const child = spawn(process.execPath, [...sourceFlags(), main, 'up'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      PORTCULLIS_CONFIG: join(folder, 'portcullis.json'),
      PORTCULLIS_PORT: String(port),
      PORTCULLIS_DATABASE: database,
      PORTCULLIS_KEY_FILE: join(folder, 'portcullis.key'),
      PORTCULLIS_BOOTSTRAP_EMAIL: ACCOUNT.email,
      PORTCULLIS_BOOTSTRAP_PASSWORD: ACCOUNT.password,
      PGPASSWORD: password,
      PORTCULLIS_METRICS_TOKEN: METRICS_TOKEN,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  killWithUs(child);
  const gone = once(child, 'exit');
  atEnd(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  let failures = new Map<string, number>();
  let errors = '';
  child.stderr.on('data', (text) => {
    errors += String(text);
  });
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => {
    const failure = failureOf(line);
    if (failure !== null) failures.set(failure, (failures.get(failure) ?? 0) + 1);
  });
  const failed = gone.then(([code]) => Promise.reject(new Error(`it ended with ${code}: ${errors}`)));
  failed.catch(() => {});
  const ready = new Promise<void>((resolve) => {
    lines.on('line', (line) => line.startsWith('ready ') && resolve());
  });
  await Promise.race([ready, failed]);
  return {
    port,
    takeFailures() {
      const taken = failures;
      failures = new Map();
      return taken;
    },
    async metrics() {
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
      return (await send({ port }, '/metrics', { headers })).text;
    },
  };
}

/** What a line says about the store, without what differs each time. */
function failureOf(line: string): string | null {
  if (!line.startsWith('{') || !/"reason"|"readiness/.test(line)) return null;
  const { type, reason } = JSON.parse(line) as { readonly type: string; readonly reason?: string };
  const what = reason?.replaceAll(/"[^"]*"/g, '…').replaceAll(/\b[\d.]+:\d+\b/g, '…');
  return what === undefined ? type : `${type} ${what}`;
}
