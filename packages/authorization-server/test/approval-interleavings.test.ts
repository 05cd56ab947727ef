/** Every order in which calls, approvers and a revocation reach the store around one approval: it serves one call at most. */
import type { FullStore } from '@portcullis/store';
import { expect, it } from 'vitest';
import { newApproval } from '../../store/testing/approvals.ts';
import { createGrant, NOW, newHash } from '../../store/testing/samples.ts';
import { createCallApprovals } from '../src/approvals/call-approvals.ts';
import { decideApproval } from '../src/approvals/decide.ts';
import type { ServerContext } from '../src/context.ts';
import type { ApprovalRecord } from '../src/store/index.ts';
import { type Actor, exploreInterleavings, postgres, type Step, sqlite, stepwise } from './interleavings.ts';
import { ISSUER } from './server-under-test.ts';

/** What happened, in its order. */
type Happening = 'approved' | 'denied' | 'revoked' | 'executed';

interface Scene {
  readonly store: FullStore;
  readonly approval: ApprovalRecord;
  readonly happened: Happening[];
}

async function setScene(store: FullStore): Promise<Scene> {
  const { grant } = await createGrant(store);
  const call = { grantId: grant.id, subject: grant.accountId, argumentsHash: newHash() };
  const approval = await store.requestApproval(newApproval(call), { bySubject: 9, byServer: 1_000_000 });
  if (approval === null) throw new Error('too many approvals');
  return { store, approval, happened: [] };
}

/** What the code of the server reads of its context. */
function contextOf(scene: Scene, step: Step) {
  const context = {
    store: stepwise(scene.store, step),
    clock: () => NOW,
    events: () => {},
    options: { issuer: ISSUER },
    writeEvents: async () => {},
  };
  return context as unknown as ServerContext & typeof context;
}

const call: Actor<Scene> = async (scene, step) => {
  const { server, tool, rule, argumentsHash, subject, clientId, grantId, definition } = scene.approval;
  const needed = [{ rule, by: 'user', lasts: 'call' }] as const;
  const found = await createCallApprovals(contextOf(scene, step)).request({
    ...{ issuer: ISSUER, subject, clientId, grantId, server, tool, definition, argumentsHash, needed },
    ...{ arguments: scene.approval.arguments, backend: null },
  });
  if (found.kind === 'approved' && (await found.use.consume())) scene.happened.push('executed');
};

const decide =
  (choice: 'once' | 'deny'): Actor<Scene> =>
  async (scene, step) => {
    const isFirst = await decideApproval(
      contextOf(scene, step),
      scene.approval,
      choice,
      scene.approval.subject,
    );
    if (isFirst) scene.happened.push(choice === 'once' ? 'approved' : 'denied');
  };

const revoke: Actor<Scene> = async ({ store: real, approval, happened }, step) => {
  await stepwise(real, step).revokeGrant(approval.grantId ?? '', NOW);
  happened.push('revoked');
};

/** One decision, at most one call, and only between its approval and the revocation. */
function check({ happened }: Scene): void {
  const decisions = happened.filter((one) => one === 'approved' || one === 'denied');
  expect(decisions.length).toBeLessThanOrEqual(1);
  const calls = happened.filter((one) => one === 'executed');
  expect(calls.length).toBeLessThanOrEqual(1);
  if (calls.length === 0) return;
  expect(happened.slice(0, happened.indexOf('executed'))).toEqual(['approved']);
}

const fewer = { call, other: call, approve: decide('once'), revoke };
const all = { ...fewer, deny: decide('deny') };

it.each([
  { ...sqlite, actors: all, orders: 488, also: ['denied,revoked'] },
  { ...postgres, actors: fewer, orders: 76, also: [] },
])(
  'an approval serves one call on $name, in every order of two calls, their approvers and a revocation',
  async ({ open, actors, orders, also }) => {
    const store = await open();
    const seen = new Set<string>();
    const explored = await exploreInterleavings(
      () => setScene(store),
      actors,
      (scene) => {
        check(scene);
        seen.add(scene.happened.join());
      },
    );
    expect(explored).toBe(orders);
    const possible = ['approved,executed,revoked', 'approved,revoked', 'revoked', ...also];
    expect([...seen].sort()).toEqual(possible.sort());
  },
);

it('the exploration finds an approval that serves two calls: it is read, and used afterwards', async () => {
  const store = await sqlite.open();
  const forgetful: Actor<Scene> = (scene, step) =>
    call({ ...scene, store: useWithoutCheck(store, step) }, (operation) => operation());
  const actors = { approve: decide('once'), call: forgetful, other: forgetful };
  const exploring = exploreInterleavings(() => setScene(store), actors, check);
  await expect(exploring).rejects.toThrow(/^in the order .*call, other/);
});

/** Whether an approval may be used is one step, and its use another. */
function useWithoutCheck(store: FullStore, step: Step): FullStore {
  return {
    ...stepwise(store, step),
    async consumeApprovals([id = ''], now) {
      const found = await step(() => store.findApproval(id, now));
      await step(() => store.consumeApprovals([id], now));
      return found?.outcome === 'approved' && found.consumedAt === null;
    },
  };
}
