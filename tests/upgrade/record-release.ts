/**
 * Records what this version leaves in a database, for the tests of all later versions: `npm run record-release`, before it is
 * published. Writes `released/<version>.json`.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { authorize, redeem, refresh, signIn } from '../resilience/browser.ts';
import { send, startProcess } from '../resilience/servers.ts';
import { credentialsOf } from '../resilience/world.ts';
import { type DatabaseKind, databases, newestSchema, type Recorded } from './databases.ts';

const manifest = new URL('../../packages/cli/package.json', import.meta.url);
const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { readonly version: string };
const ends: (() => Promise<void>)[] = [];
try {
  const recorded: Record<string, Recorded> = {};
  for (const kind of databases) recorded[kind.name] = await record(kind);
  const file = new URL(`released/${version}.json`, import.meta.url);
  await writeFile(file, `${JSON.stringify(recorded, null, 1)}\n`);
  console.log(`${version}: schema ${newestSchema}`);
} finally {
  for (const end of ends.reverse()) await end();
}

async function record(kind: DatabaseKind): Promise<Recorded> {
  const location = await kind.make((end) => void ends.push(end));
  await kind.migrate(location, newestSchema);
  const schemaHash = await kind.schemaHash(location);
  const server = await startProcess(location, (end) => void ends.push(end));
  const registration = { client_name: 'A registered client', redirect_uris: ['http://127.0.0.1/callback'] };
  await send(server, '/register', { json: registration });
  const { cookie } = await signIn(server);
  const [first, second] = [
    await redeem(server, await authorize(server, { cookie })),
    await redeem(server, await authorize(server, { cookie })),
  ];
  const revokedRefreshToken = String(second.body['refresh_token']);
  await send(server, '/revoke', { form: { token: revokedRefreshToken, ...credentialsOf('web') } });
  const { body } = await refresh(server, String(first.body['refresh_token']));
  const recordedAt = Math.floor(Date.now() / 1000);
  await server.stop();
  return {
    schema: newestSchema,
    schemaHash,
    recordedAt,
    accessToken: String(body['access_token']),
    refreshToken: String(body['refresh_token']),
    revokedRefreshToken,
    cookie,
    rows: await kind.dump(location),
  };
}
