/** The command on PostgreSQL, which keeps sessions and tokens. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { owner, type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { createUser } from '../support/user.ts';
import { createMemoryProvider } from './memory-provider.ts';
import { sdks } from './sdks.ts';

let postgres: Postgres;
let server: Portcullis;

beforeAll(async () => {
  postgres = await startPostgres();
  server = await startPortcullis({ database: await postgres.createDatabase() });
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  await postgres.stop();
});

it.each(sdks)('$name signs in on PostgreSQL, and works after a restart', async (sdk) => {
  const provider = createMemoryProvider({ redirectUrl: 'http://127.0.0.1:33418/callback' });
  await sdk.signIn(server.resource, provider, createUser(owner));
  const before = await sdk.connect(server.resource, provider);
  const me = await before.call('whoami');
  await before.close();

  await server.restart();

  const after = await sdk.connect(server.resource, provider);
  expect(await after.call('whoami')).toEqual(me);
  await after.close();
});
