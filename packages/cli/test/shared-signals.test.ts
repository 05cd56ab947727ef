/** The transmitter of `portcullis up` and the receiver of another authorization server: what ends here ends there, pushed and polled. */
import { tmpdir } from 'node:os';
import { createAuthorizationServer } from '@portcullis/authorization-server';
import { listen } from '@portcullis/http/node';
import { openStore } from '@portcullis/store';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { newAccount, newSession } from '../../store/testing/samples.ts';
import { runHere } from './support/in-process.ts';

const SECRET = 'a secret of the receiver that is known here only';

let portcullis: PortcullisHere;
beforeAll(async () => {
  portcullis = await startPortcullisHere({
    sharedSignals: { receivers: [{ client: 'peer' }] },
    clients: [
      {
        ...{ client_id: 'peer', client_secret: SECRET, grant_types: ['client_credentials'] },
        scope: 'ssf.read ssf.manage',
      },
    ],
  });
});
afterAll(() => portcullis.stop());

const run = (...words: readonly string[]) =>
  runHere(words, {
    environment: { PORTCULLIS_DATABASE: portcullis.database, PORTCULLIS_PUBLIC_URL: portcullis.url },
    folder: tmpdir(),
  });

async function receiverToken(): Promise<string> {
  const resource = `${portcullis.url}/ssf`;
  const body = new URLSearchParams({ grant_type: 'client_credentials', resource, scope: 'ssf.manage' });
  const headers = {
    authorization: `Basic ${Buffer.from(`peer:${encodeURIComponent(SECRET)}`).toString('base64')}`,
  };
  const response = await fetch(`${portcullis.url}/token`, { method: 'POST', headers, body });
  return ((await response.json()) as { readonly access_token: string }).access_token;
}

/** An authorization server whose users sign in at the first one. @returns the sessions of its user */
async function startPeer(delivery: 'push' | 'poll', subject: string) {
  const store = await openStore(':memory:');
  const credentials =
    delivery === 'push'
      ? { token: await receiverToken() }
      : { client: { clientId: 'peer', clientSecret: SECRET } };
  let handle: ReturnType<typeof createAuthorizationServer> | null = null;
  const listening = await listen(
    async (request, connection) => {
      const server = await handle;
      if (server === null) throw new Error('not started');
      return server.handleHttp(request, connection);
    },
    { host: '127.0.0.1', port: 0 },
  );
  const verified: string[] = [];
  handle = createAuthorizationServer({
    ...{ issuer: `http://127.0.0.1:${listening.port}`, store, masterKey: new Uint8Array(32).fill(7) },
    resources: [{ resource: 'https://mcp.example/mcp', name: 'Notes', scopes: { read: 'Read' } }],
    identityProviders: [
      {
        ...{
          id: 'first',
          name: 'First',
          clientId: 'peer',
          scopes: ['openid'],
          kind: { issuer: portcullis.url },
        },
        sharedSignals: { delivery, ...credentials },
      },
    ],
    events: ({ type }) => verified.push(type),
  });
  const server = await handle;
  onTestFinished(async () => {
    await listening.close(0);
    await server.close();
    await store.close();
  });
  const account = newAccount({ emailKey: 'federated:first' });
  await store.linkIdentity({ issuer: portcullis.url, subject, accountId: account.id }, account);
  const now = Math.floor(Date.now() / 1000);
  await store.saveSession(
    newSession(account.id, { createdAt: now - 60, expiresAt: now + 600 }),
    account.passwordHash,
  );
  return { verified, sessions: async () => (await store.listSessions(account.id, now)).length };
}

describe.each(['poll', 'push'] as const)('a receiver that gets security events by %s', (delivery) => {
  it('is verified, and ends the sessions of a user whose account is disabled here', async () => {
    const email = `${delivery}@example.com`;
    await run('users', 'add', email);
    const { id } = JSON.parse((await run('users', 'show', email, '--json')).output) as {
      readonly id: string;
    };
    const peer = await startPeer(delivery, id);
    await expect.poll(() => peer.verified).toContain('security_event_stream.verified');
    expect(await peer.sessions()).toBe(1);
    const listed = JSON.parse((await run('streams', 'list', '--json')).output) as readonly {
      readonly id: string;
    }[];
    expect(listed.at(-1)).toMatchObject({ clientId: 'peer', status: 'enabled', attempts: 0 });
    await run('users', 'disable', email);
    await expect.poll(peer.sessions).toBe(0);
    const removed = listed.find((stream) => 'delivery' in stream && stream.delivery === delivery)?.id ?? '';
    expect(await run('streams', 'remove', removed)).toMatchObject({
      ...{ code: 0, output: `The stream ${removed} of peer is removed.\n` },
    });
    expect(await run('streams', 'remove', removed)).toMatchObject({
      ...{ code: 1, errors: expect.stringContaining(`There is no stream ${removed}`) },
    });
  });
});
