/**
 * A whole synchronization of users and groups by SCIM, as Microsoft Entra ID does it, with kills in between, and what refreshes wait
 * meanwhile. `node --conditions=portcullis-source bench/scim.ts sqlite|postgres [users=100000] [groups=5000] [kills=5] [concurrency=8] [rate=50]
 * [sessions=100] [alone=20] [limited]`; without `limited`, the rate limit of the connection is off. PostgreSQL has its own defaults.
 */

import { askPostgres, kinds, type Place } from '../tests/resilience/places.ts';
import { runSynchronization } from '../tests/resilience/provisioning/run.ts';
import { startServer } from '../tests/support/postgres.ts';
import { describeMachine } from './harness/machine.ts';

const [store = '', ...words] = process.argv.slice(2);
const number = (name: string, otherwise: number) =>
  Number(words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1) ?? otherwise);

const ends: (() => Promise<void>)[] = [];
const atEnd = (end: () => Promise<void>) => void ends.push(end);

async function makePlace(): Promise<Place> {
  if (store === 'sqlite') {
    const kind = kinds.find(({ name }) => name === 'SQLite');
    if (kind !== undefined) return kind.make(atEnd);
  }
  if (store !== 'postgres') throw new Error('Name the store: sqlite or postgres.');
  const { url, stop } = await startServer({});
  atEnd(stop);
  return { location: url, ask: (query) => askPostgres(url, query) };
}

const plan = {
  users: number('users', 100_000),
  groups: number('groups', 5000),
  kills: number('kills', 5),
  concurrency: number('concurrency', 8),
  sessions: number('sessions', 100),
  rate: number('rate', 50),
  alone: number('alone', 20),
  isLimited: words.includes('limited'),
};
try {
  const report = await runSynchronization(await makePlace(), plan, atEnd);
  console.log(JSON.stringify({ store, machine: describeMachine(), plan, ...report }, null, 1));
} finally {
  for (const end of ends.toReversed()) await end();
}
