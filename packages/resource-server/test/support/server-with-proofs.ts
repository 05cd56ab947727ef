/** A protected server as a child process: it remembers proofs at a LOCATION, and tells its port. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'pg';
import { protectNode } from '../../src/adapters/node.ts';
import { postgresReplayStore, sqliteReplayStore } from '../../src/dpop/sql/sql-replay-store.ts';
import { createGuard, jwtVerifier } from '../../src/index.ts';
import { ISSUER, NOW, RESOURCE } from './issuer.ts';

const { KEYS = '', LOCATION = '' } = process.env;
const replays = LOCATION.startsWith('postgres')
  ? postgresReplayStore(new Pool({ connectionString: LOCATION }))
  : sqliteReplayStore(new DatabaseSync(LOCATION, { timeout: 100_000 }));
const guard = createGuard({
  resource: RESOURCE,
  verifier: jwtVerifier({ issuer: ISSUER, jwks: JSON.parse(KEYS) }),
  dpop: { replays },
  clock: () => NOW,
});
const server = createServer(protectNode(guard, (_request, response) => void response.end('hello')));
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
