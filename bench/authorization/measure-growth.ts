/** Measures the cost of a token with a thousand, a hundred thousand and a million live grants. */
import { hash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { median, type Part, spread } from '../harness/figures.ts';
import { type Begin, load } from '../harness/load.ts';
import { bareFlow, type Measurement, measure, measureQuietly, startBare } from '../harness/measure.ts';
import type { Effort } from './measure-flows.ts';
import { codeFlow, newFolder, refreshFlowOf, register, resourceAt, startPortcullis } from './portcullis.ts';
import { accountRow, forSqlite, INSERT_ACCOUNT, newAccountId, seedUsers } from './users.ts';

const SIZES = [1_000, 100_000, 1_000_000];
/** The number of grants that are refreshed, spread over the table. */
const ACTIVE = 20_000;
/** Grants per user. */
const GRANTS_EACH = 10;

export async function measureGrowth(effort: Effort): Promise<Part> {
  const bare = await startBare();
  await load([bare.port], bareFlow, { seconds: 1 });
  const samples: { size: number; flow: string; bare: Measurement; it: Measurement }[] = [];
  for (const size of effort.rounds > 1 ? SIZES : SIZES.slice(0, 2)) {
    const folder = newFolder();
    const first = await startPortcullis({ folder });
    // The resource of seeded grants must be the one that the next process protects.
    const publicUrl = `http://localhost:${first.port}`;
    const clientId = await register(first.port);
    await first.stop();
    const began = performance.now();
    const tokens = seed(join(folder, 'portcullis.db'), size, clientId, `${publicUrl}/mcp`);
    console.log(`${size} grants seeded in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    const server = await startPortcullis({ folder, publicUrl });
    const users = { clientId, browsers: seedUsers(join(folder, 'portcullis.db'), publicUrl) };
    const flows: Record<string, Begin> = {
      refresh: refreshFlowOf(clientId, tokens),
      'authorization code, asked': codeFlow(users, resourceAt(first.port), 'asked'),
    };
    for (const [flow, begin] of Object.entries(flows)) {
      await load([server.port], begin, { seconds: effort.warmUp });
      for (let round = 0; round < effort.rounds; round += 1) {
        const beside = await measureQuietly(() => measure([bare], bareFlow, { seconds: 1 }), effort.tries);
        const it = await measureQuietly(() => measure([server], begin, effort), effort.tries);
        samples.push({ size, flow, bare: beside, it });
        console.log(
          `${size} ${flow}: ${it.perSecond.toFixed(0)}/s, ${it.cost.toFixed(0)} µs, CPU share ${(beside.cost / it.cost).toFixed(3)}, noise ${it.noise.toFixed(2)}`,
        );
      }
    }
    await server.stop();
  }
  await bare.stop();
  const groups = Map.groupBy(samples, ({ size, flow }) => `${size.toLocaleString('en')}|${flow}`);
  return {
    title: 'Cost with the number of live grants',
    notes: [
      `Grants with a refresh token each, written into the SQLite file before the start. Refresh: ${ACTIVE.toLocaleString('en')} of them (all, where there ` +
        'are fewer) in turn, spread over the whole table. CPU share as in "Flows".',
    ],
    columns: ['live grants', 'flow', 'flows/s', 'CPU µs', 'CPU share', 'noise'],
    rows: [...groups].map(([name, group]) => [
      ...name.split('|'),
      spread(
        group.map(({ it }) => it.perSecond),
        0,
      ),
      spread(
        group.map(({ it }) => it.cost),
        0,
      ),
      spread(
        group.map(({ it, bare }) => bare.cost / it.cost),
        3,
      ),
      median(group.map(({ it }) => it.noise)).toFixed(2),
    ]),
    samples,
    issues: samples.flatMap(({ size, flow, it }) =>
      it.issue === null ? [] : [`${size} grants, ${flow}: ${it.issue}`],
    ),
  };
}

/** Inserts grants with a refresh token each. @returns some of the tokens, in random order */
function seed(file: string, size: number, clientId: string, resource: string): readonly string[] {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF');
  const now = Math.floor(Date.now() / 1000);
  const began = Date.now() - 2_592_000_000;
  const accounts = Array.from({ length: size / GRANTS_EACH }, newAccountId).sort();
  // In key order, as they would arrive over months.
  const grants = Array.from({ length: size }, (_, index) => {
    const name = `${(began + index).toString(36).padStart(9, '0')}${randomBytes(12).toString('base64url')}`;
    // The store knows the live token of a family by its hash.
    const token = `${name}~0~${randomBytes(32).toString('base64url')}`;
    return { id: `grant_${name}`, token, hash: hash('sha256', token, 'base64url') };
  });
  const insertGrant =
    database.prepare(`INSERT INTO grants (id, client_id, account_id, scopes, resources, created_at, expires_at, last_used_at,
      last_used_from, consent_digest, refresh_token_hash, refresh_token_generation, refresh_token_seed, refresh_token_issued_at,
      refresh_token_expires_at, refresh_token_rotations)
    VALUES (?, ?, ?, '["notes:read","notes:write"]', ?, ?, ?, ?, '127.0.0.1', '', ?, 0, ?, ?, ?, '')`);
  const insertAccount = database.prepare(forSqlite(INSERT_ACCOUNT));
  database.exec('BEGIN');
  for (const id of accounts) insertAccount.run(...accountRow(id));
  for (const [index, grant] of grants.entries()) {
    const account = accounts[index % accounts.length] ?? '';
    const times = [now, now + 31_536_000, now];
    const token = [grant.hash, randomBytes(32).toString('base64url'), now, now + 2_592_000];
    insertGrant.run(grant.id, clientId, account, JSON.stringify([resource]), ...times, ...token);
  }
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  const step = Math.max(1, Math.floor(size / ACTIVE));
  const active = grants.filter((_, index) => index % step === 0).map(({ token }) => token);
  // Shuffled.
  return active.sort((one, other) => (one.slice(-43) < other.slice(-43) ? -1 : 1));
}
