/** Several stores on one database, in one process and in several, share all state and keep every guarantee. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { approved, newApproval } from '../testing/approvals.ts';
import {
  createGrant,
  grantOf,
  issueSampleCode,
  NOW,
  newAccount,
  newClient,
  newClientDocument,
  newHash,
  newKey,
  newRefreshToken,
  newSession,
  newTransaction,
  PASSWORD_HASH,
  RACERS,
  race,
  times,
} from '../testing/samples.ts';
import { postgresDatabases, sqliteFiles } from './databases.ts';
import type { Order, Report } from './racer.ts';

describe.each([
  { name: 'a SQLite file', places: sqliteFiles() },
  { name: 'PostgreSQL', places: postgresDatabases() },
])('$name shared by several stores', ({ places }) => {
  it('contains everything after it is closed and opened again', async () => {
    const location = await places();
    const before = await openTestStore(location);
    const [account, client, key, transaction] = [newAccount(), newClient(), newKey(), newTransaction()];
    await before.createFirstAccount(account, null);
    const session = newSession(account.id);
    await before.saveSession(session, PASSWORD_HASH);
    await before.saveClient(client);
    await before.addSigningKey(key, null);
    await before.openTransaction(transaction);
    const code = await issueSampleCode(before);
    const { grant, token } = await createGrant(before);
    await before.revokeAccessToken('jti', NOW + 600);
    await before.close();

    const after = await openTestStore(location);
    expect(await after.findAccount(account.id)).toEqual(account);
    expect((await after.findSession(session.hash, NOW))?.session).toEqual(session);
    expect(await after.findClient(client.id)).toEqual(client);
    expect(await after.listSigningKeys()).toEqual([key]);
    expect(await after.findTransaction(transaction.id, NOW)).toEqual(transaction);
    expect(await after.findCode(code.hash)).toEqual({ ...code, consumedAt: null });
    expect(await after.findGrant(grant.id)).toEqual({
      token,
      grant: { ...grant, revokedAt: null, hasAccount: true },
    });
    expect(await after.isAccessTokenLive('jti', null)).toBe(false);
    await after.close();
  });

  it('shows a resolved operation of one store to every other', async () => {
    const location = await places();
    const [here, there] = [await openTestStore(location), await openTestStore(location)];
    const { grant, token } = await createGrant(here);
    expect((await there.findGrant(grant.id))?.grant.id).toBe(grant.id);
    await there.revokeGrant(grant.id, NOW);
    expect(await here.isAccessTokenLive('jti', grant.id)).toBe(false);
    expect(await here.rotateRefreshToken(grant.id, token.hash, newRefreshToken(), null)).toBe('conflict');
    await here.close();
    await there.close();
  });

  it('shows a client that one store changed to every other that has cached it', async () => {
    const location = await places();
    const [here, there] = [await openTestStore(location), await openTestStore(location)];
    const [client, other] = [newClient(), newClient()];
    for (const one of [client, other]) await here.saveClient(one);
    const sight = async () => [await here.findClient(client.id), await there.findClient(client.id)];
    const change = { metadata: { ...client.metadata, client_name: 'New' }, secretHash: newHash() };
    const steps: [() => Promise<unknown>, object | null][] = [
      [async () => {}, client],
      [() => there.updateClient(client.id, change), change],
      [() => here.disableClient(client.id, NOW), { ...change, disabledAt: NOW }],
      [() => there.enableClient(client.id, NOW + 1), { disabledAt: null, enabledAt: NOW + 1 }],
      [() => here.saveClientVerification(client.id, change.metadata, NOW), { verifiedAt: NOW }],
      [() => there.recordClientUse(client.id, NOW + 1, NOW + 2), { lastUsedAt: NOW + 1, expiresAt: NOW + 2 }],
      [() => there.sweep(NOW + 2, 100), null],
    ];
    for (const [step, expected] of steps) {
      await step();
      // Twice, since only the second read may be cached.
      for (const seen of [...(await sight()), ...(await sight())]) {
        if (expected === null) expect(seen).toBeNull();
        else expect(seen).toMatchObject(expected);
      }
    }
    expect(await here.findClient(other.id)).toEqual(other);
    await here.close();
    await there.close();
  });

  it('shows the newest client metadata document to every store that has cached an older one', async () => {
    const location = await places();
    const [here, there] = [await openTestStore(location), await openTestStore(location)];
    const first = newClientDocument();
    await here.saveClientMetadataDocument(first);
    for (const store of [here, there])
      expect(await store.findClientMetadataDocument(first.url)).toEqual(first);
    const second = { ...first, digest: newHash(), fetchedAt: first.fetchedAt + 1 };
    await there.saveClientMetadataDocument(second);
    for (const store of [here, there])
      expect(await store.findClientMetadataDocument(first.url)).toEqual(second);
    await here.close();
    await there.close();
  });

  it('lets one of two stores win each race', async () => {
    const location = await places();
    const stores = [await openTestStore(location), await openTestStore(location)] as const;
    const code = await issueSampleCode(stores[0]);
    const { token, grant } = await createGrant(stores[1]);
    const successor = newRefreshToken();
    const transaction = newTransaction();
    await stores[0].openTransaction(transaction);
    const either = (index: number) => stores[index % 2 === 0 ? 0 : 1];

    const races = await Promise.all([
      race(times(RACERS, (index) => () => either(index).redeemCode(code.hash, grantOf(code), null, NOW))),
      race(
        times(
          RACERS,
          (index) => () => either(index).rotateRefreshToken(grant.id, token.hash, successor, null),
        ),
      ),
      race(times(RACERS, (index) => () => either(index).completeTransaction(transaction.id, null))),
      race(times(RACERS, (index) => () => either(index).createFirstAccount(newAccount(), null))),
    ]);
    expect(races).toEqual([
      { redeemed: 1, already_used: RACERS - 1 },
      { rotated: 1, conflict: RACERS - 1 },
      { true: 1, false: RACERS - 1 },
      { created: 1, refused: RACERS - 1 },
    ]);
    const keys = await Promise.all(times(10, (index) => either(index).addSigningKey(newKey(), null)));
    expect(new Set(keys.map(([key]) => key?.id)).size).toBe(1);
    for (const store of stores) await store.close();
  });

  it('T137 T138: lets one of three processes win each race', async () => {
    const location = await places();
    const store = await openTestStore(location);
    const rounds = await Promise.all(
      times(5, async () => {
        const code = await issueSampleCode(store);
        const { token, grant } = await createGrant(store);
        const approval = newApproval({ grantId: grant.id });
        await store.requestApproval(approval, { bySubject: 9, byServer: 99 });
        await store.decideApproval(approval.id, approved(), NOW);
        const [grantId, approvalId] = [grant.id, approval.id];
        return { code, presented: token.hash, successor: newRefreshToken(), grantId, approvalId };
      }),
    );
    const processes = 3;
    const order: Order = { location, rounds, racers: RACERS / 2 };
    const reports = await runRacers(processes, order);
    const calls = processes * order.racers;

    for (const [index, { code, successor, grantId }] of rounds.entries()) {
      const outcomes = reports.flatMap(({ rounds: run }) => run[index] ?? []);
      expect(outcomes.filter((outcome) => outcome === 'redeemed')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'already_used')).toHaveLength(calls - 1);
      expect(outcomes.filter((outcome) => outcome === 'rotated')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'conflict')).toHaveLength(calls - 1);
      expect(outcomes.filter((outcome) => outcome === 'consumed')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'used before')).toHaveLength(calls - 1);
      expect(await store.isAccessTokenLive('jti', code.grantId)).toBe(true);
      expect(await store.isAccessTokenLive('jti', grantId)).toBe(true);
      expect((await store.findGrant(grantId))?.token).toEqual(successor);
    }
    await store.close();
  });
});

/** Starts processes, waits until all have reached the barrier, and releases them. */
async function runRacers(count: number, order: Order): Promise<readonly Report[]> {
  const script = fileURLToPath(new URL('racer.ts', import.meta.url));
  const racers = times(count, () => {
    const child = spawn(process.execPath, [...sourceFlags(), script, JSON.stringify(order)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    return { child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
  });
  for (const { lines } of racers) expect((await lines.next()).value).toBe('ready');
  for (const { child } of racers) child.stdin.end('go\n');
  return Promise.all(
    racers.map(async ({ child, lines }) => {
      const report = JSON.parse(String((await lines.next()).value)) as Report;
      if (child.exitCode === null) await once(child, 'exit');
      return report;
    }),
  );
}
