/** Access tokens that live for one second, and a restart: the official SDKs refresh automatically. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { owner, type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { createUser } from '../support/user.ts';
import { createRecorder } from './exchanges.ts';
import { createMemoryProvider } from './memory-provider.ts';
import { sdks } from './sdks.ts';

/** The guard's clock tolerance in seconds. */
const skew = 5;
const lifetime = 1;

/** Each test has its own applications, without earlier refreshes. */
const applicationsOf = () =>
  sdks.map((sdk) => ({
    sdk,
    name: sdk.name,
    provider: createMemoryProvider({ redirectUrl: 'http://127.0.0.1:33418/callback' }),
  }));
const [lone, together] = [applicationsOf(), applicationsOf()];

let server: Portcullis;

beforeAll(async () => {
  server = await startPortcullis({ lifetimes: { accessToken: lifetime } });
  for (const { sdk, provider } of [...lone, ...together]) {
    await sdk.signIn(server.resource, provider, createUser(owner));
    const session = await sdk.connect(server.resource, provider);
    await session.call('add_note', { text: `Before, by ${sdk.name}` });
    await session.close();
  }
  await sleep((lifetime + skew) * 1000);
  await server.restart();
});

afterAll(async () => {
  await server.stop();
});

it.each(lone)(
  '[AS-TTL-1 AS-TOK-2] $name refreshes after its token has expired and the server was restarted',
  async ({ sdk, provider }) => {
    const first = provider.tokens();
    expect(first?.expires_in).toBe(lifetime);
    const { fetch, exchanges } = createRecorder();
    const session = await sdk.connect(server.resource, provider, fetch);
    await session.call('add_note', { text: `After, by ${sdk.name}` });
    expect(await session.call('list_notes')).toMatchObject({
      notes: expect.arrayContaining([
        expect.objectContaining({ text: `Before, by ${sdk.name}` }),
        expect.objectContaining({ text: `After, by ${sdk.name}` }),
      ]),
    });
    await session.close();

    const [refusal] = exchanges;
    expect(refusal?.status).toBe(401);
    expect(refusal?.challenge).toContain('error="invalid_token"');
    const tokenRequests = exchanges.filter(({ url }) => url.pathname === '/token');
    // One, unless this machine took longer over the calls than the new token lives.
    expect(new Set(tokenRequests.map(({ status }) => status))).toEqual(new Set([200]));
    const second = provider.tokens();
    expect(second?.access_token).not.toBe(first?.access_token);
    expect(second?.refresh_token).not.toBe(first?.refresh_token);
  },
);

it.each(together)(
  '[AS-ROT-2] $name is not signed out by calls that all refresh at once',
  async ({ sdk, provider }) => {
    const session = await sdk.connect(server.resource, provider);
    const tokens = provider.tokens();
    if (tokens !== undefined) provider.saveTokens({ ...tokens, access_token: 'spoilt' });
    const { fetch, exchanges } = createRecorder();
    const sessions = await Promise.all(
      Array.from({ length: 4 }, () => sdk.connect(server.resource, provider, fetch)),
    );
    const refreshes = exchanges.filter(({ url }) => url.pathname === '/token');
    expect(refreshes.length).toBeGreaterThan(1);
    expect(refreshes.every(({ status }) => status === 200)).toBe(true);
    await Promise.all(sessions.map((each) => each.call('whoami')));
    await Promise.all([session, ...sessions].map((each) => each.close()));
  },
);
