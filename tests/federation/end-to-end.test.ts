/** Federation end to end with real processes: a client of either profile, a federated user, and what remains stored. */
import { readFileSync } from 'node:fs';
import { createClient, createMemoryStore } from '@portcullis/client';
import { createLoopbackReceiver } from '@portcullis/client/node';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { callTool, claimsOf } from '../demo/stage.ts';
import type { IdentityProvider } from '../support/identity-providers/identity-provider.ts';
import type { Portcullis } from '../support/portcullis.ts';
import { startPostgres } from '../support/postgres.ts';
import type { User } from '../support/user.ts';
import { PROVIDER_PASSWORD, stageGithub, stageOidc, userAt } from './stage.ts';

/** A client program whose browser is its user's. */
function programOf(portcullis: Portcullis, user: User) {
  const exchanges: string[] = [];
  const tokens: string[] = [];
  const client = createClient({
    serverUrl: portcullis.resource,
    registration: { clientName: 'Reader' },
    browser: { open: async (url) => void fetch(await user.authorize(url)) },
    receiver: createLoopbackReceiver(),
    store: createMemoryStore(),
    async fetch(input, init) {
      const request = new Request(input, init);
      const { pathname, search } = new URL(request.url);
      const response = await fetch(request);
      exchanges.push(`${request.method} ${pathname}${search} ${response.status}`);
      const text = await response.clone().text();
      tokens.push(
        ...[...text.matchAll(/"(?:access|refresh)_token":"([^"]+)"/g)].map(([, token = '']) => token),
      );
      return response;
    },
  });
  return { client, exchanges, tokens };
}

async function repositoriesOf({ fetch: send }: ReturnType<typeof createClient>, portcullis: Portcullis) {
  const response = await callTool(send as never, portcullis, 'list_repositories');
  return { status: response.status, text: await response.text() };
}

/** Search terms for provider tokens: each token, and its parts if it is a JWT. */
function secretsOf(party: IdentityProvider): readonly string[] {
  expect(party.given.length).toBeGreaterThan(0);
  return [...party.given, party.client.secret, PROVIDER_PASSWORD];
}

function bytesOf(portcullis: Portcullis): string {
  return ['', '-wal'].map((suffix) => readFileSync(`${portcullis.database}${suffix}`, 'latin1')).join('');
}

async function dumpPostgres(url: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows: tables } = await client.query(
    `select table_name from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema')`,
  );
  let text = '';
  for (const { table_name: name } of tables) {
    const { rows } = await client.query(`select * from "${name}"`);
    text += rows
      .flatMap((row) => Object.values(row))
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
      .join('\n');
  }
  await client.end();
  return text;
}

describe.each([
  { profile: 'A', revision: '2025-03-26', metadata: true },
  { profile: 'A without metadata', revision: '2025-03-26', metadata: false },
  { profile: 'B', revision: '2025-06-18', metadata: true },
])('by profile $profile', ({ revision, metadata }) => {
  it('[GW-3P-1 GW-3P-8 GW-3P-14 GW-UP-1 GW-UP-2] T083 a protected server reads from the identity provider for its user, and no one else gets the provider token', async () => {
    const { portcullis, party } = await stageGithub({ profiles: [revision], metadata });
    const { client, exchanges, tokens } = programOf(portcullis, userAt(party, 'github'));
    const answer = await repositoriesOf(client, portcullis);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('ada/compiler');
    expect(exchanges.at(0)).toBe('POST /mcp 401');
    expect(tokens.length).toBeGreaterThan(1);
    expect(party.typed).toContain(PROVIDER_PASSWORD);

    // Our tokens were sent only here, and provider tokens to no one.
    const received = party.received();
    for (const token of tokens) expect(received).not.toContain(token);
    const [theirs = ''] = party.given;
    expect(received).toContain(theirs);
    const seen = `${exchanges.join('\n')}${tokens.join('\n')}${JSON.stringify(tokens.map(readable))}${answer.text}`;
    for (const secret of secretsOf(party)) expect(seen).not.toContain(secret);

    const replayed = await fetch(portcullis.resource, {
      method: 'POST',
      headers: { authorization: `Bearer ${theirs}` },
    });
    expect(replayed.status).toBe(401);

    await portcullis.restart();
    const [stored, log] = [bytesOf(portcullis), portcullis.output() + portcullis.errors()];
    for (const secret of [...secretsOf(party), ...tokens]) {
      expect(stored.includes(secret)).toBe(false);
      expect(log.includes(secret)).toBe(false);
    }
    // The search works: it finds the user and the events.
    expect(stored).toContain('provider_token.stored');
    expect((await repositoriesOf(client, portcullis)).status).toBe(200);
  });
});

function readable(token: string): unknown {
  return token.includes('.') ? claimsOf(token) : token;
}

describe('oidc-provider', () => {
  it('[GW-3P-14] leaves no provider token in PostgreSQL or in the log, whatever happens to them', async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const database = await postgres.createDatabase();
    const { portcullis, party } = await stageOidc({ database });
    party.tokenLifetime = 8;
    const { client, tokens } = programOf(portcullis, userAt(party, 'company'));
    const read = async () => {
      const response = await client.fetch(portcullis.resource, { method: 'POST', body: '{}' });
      return { status: response.status, ...((await response.json()) as object) };
    };
    expect(await read()).toMatchObject({ status: 200, there: 200, owner: 'ada' });
    party.tokenLifetime = 3600;
    await expect.poll(() => read().then(() => party.renewals()), { interval: 500 }).toBeGreaterThan(0);
    expect(await read()).toMatchObject({ status: 200, there: 200, owner: 'ada' });
    const stored = await dumpPostgres(database);
    const log = portcullis.output() + portcullis.errors();
    expect(stored).toContain('provider_token.stored');
    expect(log).toContain('provider_token.stored');
    for (const secret of [...secretsOf(party), ...tokens]) {
      expect(stored.includes(secret)).toBe(false);
      expect(log.includes(secret)).toBe(false);
    }
  });
});
