/** Ten thousand security events at once, while the database is down, and then delivered twice: each takes effect, and none twice. */
import { OAuthError } from '@portcullis/protocol';
import { type FullStore, openStore } from '@portcullis/store';
import { expect, it, onTestFinished } from 'vitest';
import { newAccount, newSession } from '../../store/testing/samples.ts';
import { createAuthorizationServer } from '../src/index.ts';
import { ISSUER, MASTER_KEY, NOTES } from './server-under-test.ts';
import { AUDIENCE, startTransmitter } from './transmitter.ts';

const EVENTS = 10_000;
const USERS = 100;
/** Requests at once. */
const CONCURRENCY = 200;

/** A store that throws while the database is down. */
function interruptible(store: FullStore): { readonly store: FullStore; isDown: boolean } {
  const state = { isDown: false };
  const proxy = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function' || name === 'beforeCommit' || name === 'close') return member;
      return async (...args: unknown[]) => {
        if (state.isDown)
          throw new OAuthError('temporarily_unavailable', 'The database is down.', { retryAfter: 5 });
        return Reflect.apply(member, target, args);
      };
    },
  });
  return Object.assign(state, { store: proxy });
}

it('10,000 security events of 100 users, sent while the database is down and then twice, end every older session and no later one', async () => {
  const clock = { now: Math.floor(Date.now() / 1000) };
  const transmitter = await startTransmitter(clock);
  const opened = await openStore(':memory:');
  const database = interruptible(opened);
  const { store } = database;
  const server = await createAuthorizationServer({
    ...{ issuer: ISSUER, store, masterKey: MASTER_KEY, clock: () => clock.now },
    resources: [{ resource: NOTES, name: 'Notes', scopes: { 'notes:read': 'Read your notes' } }],
    identityProviders: [
      {
        ...{ id: 'files', name: 'Files', clientId: 'portcullis', scopes: ['openid'] },
        ...{ kind: { issuer: transmitter.issuer }, sharedSignals: { audience: [AUDIENCE] } },
      },
    ],
  });
  onTestFinished(async () => {
    await server.close();
    await opened.close();
  });
  const accounts = Array.from({ length: USERS }, () => newAccount());
  const startSessions = async (createdAt: number) => {
    for (const { id, passwordHash } of accounts)
      await store.saveSession(newSession(id, { createdAt, expiresAt: createdAt + 86_400 }), passwordHash);
  };
  const countSessions = async () =>
    (await Promise.all(accounts.map(({ id }) => store.listSessions(id, clock.now)))).flat().length;
  for (const [index, account] of accounts.entries())
    await store.linkIdentity(
      { issuer: transmitter.issuer, subject: `user-${index}`, accountId: account.id },
      { ...account, emailKey: `federated:${index}` },
    );
  await startSessions(clock.now - 60);

  const tokens: string[] = [];
  for (let index = 0; index < EVENTS; index += 1)
    tokens.push(
      await transmitter.sign({
        sub_id: { format: 'iss_sub', iss: transmitter.issuer, sub: `user-${index % USERS}` },
        events: { 'https://schemas.openid.net/secevent/caep/event-type/session-revoked': {} },
      }),
    );
  const pushAll = async () => {
    const statuses = new Map<number, number>();
    const queue = tokens.values();
    const work = async () => {
      for (const body of queue) {
        const headers = { 'content-type': 'application/secevent+jwt' };
        const request = new Request(`${ISSUER}/shared-signals/files`, { method: 'POST', headers, body });
        const { status } = await server.handle(request);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    return [...statuses];
  };

  database.isDown = true;
  expect(await pushAll()).toEqual([[503, EVENTS]]);
  database.isDown = false;
  expect(await countSessions()).toBe(USERS);
  expect(await pushAll()).toEqual([[202, EVENTS]]);
  expect(await countSessions()).toBe(0);
  clock.now += 600;
  await startSessions(clock.now);
  expect(await pushAll()).toEqual([[202, EVENTS]]);
  expect(await countSessions()).toBe(USERS);
}, 300_000);
