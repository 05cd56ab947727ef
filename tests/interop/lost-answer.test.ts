/** A host that ends after it received refreshed tokens and before it saved them: it continues an hour later with the tokens it has. */
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { createUser } from '../support/user.ts';
import { createRecorder } from './exchanges.ts';
import { createMemoryProvider, type MemoryProvider } from './memory-provider.ts';
import { sdks } from './sdks.ts';

let server: PortcullisHere;

beforeAll(async () => {
  server = await startPortcullisHere();
});

afterAll(async () => {
  await server.stop();
});

/** What a host finds when it starts: the same storage, with an access token that has expired. */
function started(provider: MemoryProvider, save: MemoryProvider['saveTokens']): MemoryProvider {
  const tokens = provider.tokens();
  if (tokens !== undefined) provider.saveTokens({ ...tokens, access_token: 'expired' });
  return { ...provider, saveTokens: save };
}

/** As if all that the server knows had happened an hour ago. */
function passAnHour(database: string): void {
  using connection = new DatabaseSync(database);
  connection.exec(
    `UPDATE grants SET refresh_token_issued_at = refresh_token_issued_at - 3600, refresh_token_expires_at = refresh_token_expires_at - 3600,
      last_used_at = last_used_at - 3600,
      refresh_token_rotations = replace(refresh_token_rotations, refresh_token_issued_at, refresh_token_issued_at - 3600)`,
  );
}

it.each(sdks)(
  '[AS-ROT-2] a session of $name outlives hosts that end before they save refreshed tokens',
  async (sdk) => {
    const provider = createMemoryProvider({ redirectUrl: 'http://127.0.0.1:33418/callback' });
    await sdk.signIn(server.resource, provider, createUser(owner));
    const before = provider.tokens()?.refresh_token;
    for (let times = 0; times < 2; times += 1) {
      const received: unknown[] = [];
      const dying = started(provider, ({ refresh_token: token }) => {
        received.push(token);
        throw new Error('the host ends');
      });
      await expect(sdk.connect(server.resource, dying)).rejects.toThrow();
      expect(received).toHaveLength(1);
      expect(provider.tokens()?.refresh_token).toBe(before);
      await server.restart(passAnHour);
    }

    const { fetch, exchanges } = createRecorder();
    const session = await sdk.connect(server.resource, started(provider, provider.saveTokens), fetch);
    expect(await session.call('whoami')).toBeDefined();
    await session.close();
    expect(provider.tokens()?.refresh_token).not.toBe(before);
    expect(exchanges.filter(({ url }) => url.pathname === '/token').map(({ status }) => status)).toEqual([
      200,
    ]);
    expect(exchanges.filter(({ url }) => url.pathname === '/authorize')).toEqual([]);
  },
);
