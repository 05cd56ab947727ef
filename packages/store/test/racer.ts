/** A process that races others on one database: waits at a barrier, runs, and reports its results. */

import { once } from 'node:events';
import type { AuthorizationCodeRecord, RefreshTokenRecord } from '@portcullis/authorization-server/store';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { grantOf, NOW, times } from '../testing/samples.ts';

export interface Order {
  readonly location: string;
  /** How many calls of each kind each process makes at once. */
  readonly racers: number;
  readonly rounds: readonly {
    readonly code: AuthorizationCodeRecord;
    readonly presented: string;
    readonly successor: RefreshTokenRecord;
    readonly grantId: string;
    /** Approved. */
    readonly approvalId: string;
  }[];
}

export interface Report {
  readonly rounds: readonly (readonly string[])[];
}

const order = JSON.parse(process.argv[2] ?? '') as Order;
const store = await openTestStore(order.location);
console.log('ready');
await once(process.stdin, 'data');

const rounds: (readonly string[])[] = [];
const consume = async (id: string) =>
  (await store.consumeApprovals([id], NOW)) ? 'consumed' : 'used before';
for (const { code, presented, successor, grantId, approvalId } of order.rounds) {
  rounds.push(
    await Promise.all([
      ...times(order.racers, () => store.redeemCode(code.hash, grantOf(code), null, NOW)),
      ...times(order.racers, () => store.rotateRefreshToken(grantId, presented, successor, null)),
      ...times(order.racers, () => consume(approvalId)),
    ]),
  );
}
console.log(JSON.stringify({ rounds } satisfies Report));
await store.close();
