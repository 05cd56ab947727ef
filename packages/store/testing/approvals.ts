/** The contract of approvals: shared by equal calls, decided once, and each consumed by one call. */
import type { ApprovalDecision, ApprovalRecord, NewApproval } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import { createGrant, NOW, newHash, RACERS, type StoreOfTest, times } from './samples.ts';

export function newApproval(changes: Partial<NewApproval> = {}): NewApproval {
  return {
    id: `approval_${newHash()}`,
    subject: `user_${newHash()}`,
    clientId: 'assistant',
    grantId: null,
    server: '/files',
    backend: null,
    tool: 'delete_file',
    argumentsHash: newHash(),
    rule: 'servers[0].tools["delete_*"].approval',
    arguments: '{"path":"/notes/ünïcode"}',
    definition: null,
    approverGroups: null,
    reusableFor: null,
    createdAt: NOW,
    expiresAt: NOW + 600,
    ...changes,
  };
}

export function approved(changes: Partial<ApprovalDecision> = {}): ApprovalDecision {
  return {
    outcome: 'approved',
    decidedBy: 'user_lead',
    reason: null,
    isReusable: false,
    expiresAt: NOW + 300,
    ...changes,
  };
}

const ROOMY = { bySubject: 100, byServer: 100 };

/** What the store holds of an approval that waits. */
function pending({ backend: _, ...approval }: NewApproval): ApprovalRecord {
  const undecided = { outcome: null, decidedBy: null, decidedAt: null, reason: null };
  return { ...approval, ...undecided, isReusable: false, consumedAt: null };
}

export function describeApprovals(store: StoreOfTest): void {
  const request = (approval: NewApproval, limits = ROOMY) => store().requestApproval(approval, limits);
  const consume = (id: string, now = NOW) => store().consumeApprovals([id], now);
  const save = async (changes: Partial<NewApproval> = {}) => {
    const approval = newApproval(changes);
    expect(await request(approval)).toEqual(pending(approval));
    return approval;
  };
  const listIds = async (filter: Parameters<ReturnType<StoreOfTest>['listPendingApprovals']>[0]) =>
    (await store().listPendingApprovals(filter, NOW, 10)).map(({ id }) => id);

  describe('approvals', () => {
    it('are found until they expire', async () => {
      const approval = await save({ definition: '{}', approverGroups: ['leads'], reusableFor: 900 });
      expect(await store().findApproval(approval.id, NOW)).toEqual(pending(approval));
      expect(await store().findApproval(approval.id, approval.expiresAt)).toBeNull();
      expect(await store().findApproval('approval_unknown', NOW)).toBeNull();
    });

    it('of a call are found until they have served it', async () => {
      const approval = await save();
      const find = (now = NOW) => store().findApprovalOfCall(approval, now);
      expect(await find()).toEqual(pending(approval));
      expect(await find(approval.expiresAt)).toBeNull();
      expect(await store().findApprovalOfCall({ ...approval, rule: 'another' }, NOW)).toBeNull();
      await store().decideApproval(approval.id, approved(), NOW);
      expect((await find())?.outcome).toBe('approved');
      await consume(approval.id);
      expect(await find()).toBeNull();
    });

    it('are shared by equal calls, also by concurrent ones', async () => {
      const approval = newApproval();
      const found = await Promise.all(
        times(RACERS, (at) => request({ ...approval, id: `approval_${at} ${approval.id}` })),
      );
      expect(new Set(found.map((one) => one?.id)).size).toBe(1);
      expect(await listIds({ subject: approval.subject })).toHaveLength(1);
    });

    it.each([
      ...(['subject', 'clientId', 'grantId', 'server', 'backend'] as const),
      ...(['tool', 'argumentsHash', 'definition', 'rule'] as const),
    ])('of a call with another %s are others', async (member) => {
      const { grant } = await createGrant(store());
      const first = await save();
      const other = { ...first, id: newHash(), [member]: member === 'grantId' ? grant.id : 'another' };
      expect((await request(other))?.id).toBe(other.id);
      expect((await request({ ...first, id: newHash() }))?.id).toBe(first.id);
    });

    it('that serve a call for a time do not serve the tool with another definition', async () => {
      const first = await save({ reusableFor: 900, definition: '{"name":"delete_file"}' });
      await store().decideApproval(first.id, approved({ isReusable: true, expiresAt: NOW + 900 }), NOW);
      expect((await store().findApprovalOfCall(first, NOW))?.id).toBe(first.id);
      const changed = { ...first, definition: '{"name":"delete_file","description":"Deletes all"}' };
      expect(await store().findApprovalOfCall(changed, NOW)).toBeNull();
    });

    it.each([
      { approverGroups: ['leads'], reusableFor: null },
      { approverGroups: null, reusableFor: 900 },
    ])('of a rule that demands something else since are others: %j', async (changed) => {
      const first = await save();
      await store().decideApproval(first.id, approved(), NOW);
      const before = await store().findApproval(first.id, NOW);
      const other = { ...first, id: newHash(), ...changed };
      expect(await store().findApprovalOfCall(other, NOW)).toBeNull();
      expect(await request(other)).toEqual(pending(other));
      expect(await store().findApproval(first.id, NOW)).toEqual(before);
      expect((await store().findApprovalOfCall(first, NOW))?.id).toBe(first.id);
    });

    it('are counted while they are pending, up to a limit', async () => {
      const count = (limit = 10_000) => store().countPendingApprovals(NOW, limit);
      const before = await count();
      const [one] = [await save(), await save()];
      expect([await count(), await count(1)]).toEqual([before + 2, 1]);
      await store().decideApproval(one.id, approved(), NOW);
      expect(await count()).toBe(before + 1);
    });

    it('are decided once, and their arguments are deleted then', async () => {
      const { id, ...call } = await save();
      const outcomes = await Promise.all(
        times(RACERS, (at) => store().decideApproval(id, approved({ decidedBy: `user ${at}` }), NOW + 1)),
      );
      expect(outcomes.filter((isFirst) => isFirst)).toHaveLength(1);
      expect(await store().findApproval(id, NOW)).toEqual({
        ...pending({ ...call, id }),
        arguments: '',
        outcome: 'approved',
        decidedBy: `user ${outcomes.indexOf(true)}`,
        decidedAt: NOW + 1,
        expiresAt: NOW + 300,
      });
      expect(await listIds({ subject: call.subject })).toEqual([]);
    });

    it('cannot be decided after they have expired', async () => {
      const { id, expiresAt } = await save();
      expect(await store().decideApproval(id, approved(), expiresAt)).toBe(false);
      expect(await store().decideApproval(id, approved(), expiresAt - 1)).toBe(true);
    });

    it('serve one call, however many use them at once', async () => {
      const approval = await save();
      expect(await consume(approval.id)).toBe(false);
      await store().decideApproval(approval.id, approved(), NOW);
      const uses = await Promise.all(times(RACERS, () => consume(approval.id)));
      expect(uses.filter((isFirst) => isFirst)).toHaveLength(1);
      const next = { ...approval, id: newHash() };
      expect(await request(next)).toEqual(pending(next));
    });

    it('serve every equal call until they expire, if they were given for a time', async () => {
      const { id, ...call } = await save({ reusableFor: 900 });
      await store().decideApproval(id, approved({ isReusable: true, expiresAt: NOW + 900 }), NOW);
      expect([await consume(id), await consume(id, NOW + 899), await consume(id, NOW + 900)]).toEqual([
        true,
        true,
        false,
      ]);
      expect((await request({ ...call, id: newHash(), createdAt: NOW + 899 }))?.id).toBe(id);
    });

    it('deny the same call until the denial expires', async () => {
      const { id, ...call } = await save();
      const denial = approved({ outcome: 'denied', reason: 'Not on a Friday.' });
      await store().decideApproval(id, denial, NOW);
      expect(await consume(id)).toBe(false);
      const again = (createdAt: number) =>
        request({ ...call, id: newHash(), createdAt, expiresAt: NOW + 999 });
      expect(await again(NOW + 299)).toMatchObject({ id, outcome: 'denied', reason: 'Not on a Friday.' });
      expect((await again(NOW + 300))?.outcome).toBeNull();
    });

    it('of one call are consumed together, or none of them', async () => {
      const [one, other] = [await save(), await save()];
      await store().decideApproval(one.id, approved(), NOW);
      expect(await store().consumeApprovals([one.id, other.id], NOW)).toBe(false);
      expect((await store().findApproval(one.id, NOW))?.consumedAt).toBeNull();
      await store().decideApproval(other.id, approved(), NOW);
      expect(await store().consumeApprovals([one.id, other.id], NOW)).toBe(true);
    });

    it('are limited by subject and by server while they are pending', async () => {
      const [subject, server] = [newHash(), `/${newHash()}`];
      const first = await save({ subject });
      expect(await request(newApproval({ subject }), { bySubject: 1, byServer: 100 })).toBeNull();
      expect(await request({ ...first, id: newHash() }, { bySubject: 1, byServer: 1 })).not.toBeNull();
      await save({ server });
      expect(await request(newApproval({ server }), { bySubject: 100, byServer: 1 })).toBeNull();
      await store().decideApproval(first.id, approved(), NOW);
      expect(await request(newApproval({ subject }), { bySubject: 1, byServer: 100 })).not.toBeNull();
    });

    it('are listed for the user, or for the groups that decide', async () => {
      const own = await save();
      const ofLeads = await save({ subject: own.subject, approverGroups: ['leads', 'board'] });
      const later = await save({ approverGroups: ['board'], createdAt: NOW - 1 });
      expect(await listIds({ subject: own.subject })).toEqual([own.id]);
      expect(await listIds({ groups: ['staff', 'leads'] })).toEqual([ofLeads.id]);
      expect(await listIds({ groups: ['board'] })).toEqual([later.id, ofLeads.id]);
      expect(await listIds({ groups: [] })).toEqual([]);
      const all = await listIds({ all: true });
      expect(all[0]).toBe(later.id);
      expect(all.toSorted()).toEqual([own.id, ofLeads.id, later.id].toSorted());
    });

    it('count no longer once their grant is revoked, for limits and for metrics', async () => {
      const { grant } = await createGrant(store());
      const count = () => store().countPendingApprovals(NOW, 10_000);
      const [subject, server, before] = [newHash(), `/${newHash()}`, await count()];
      await save({ subject, server, grantId: grant.id });
      const limits = { bySubject: 1, byServer: 1 };
      expect(await request(newApproval({ subject }), limits)).toBeNull();
      expect(await request(newApproval({ server }), limits)).toBeNull();
      expect(await count()).toBe(before + 1);
      await store().revokeGrant(grant.id, NOW);
      expect(await count()).toBe(before);
      expect(await request(newApproval({ subject }), limits)).not.toBeNull();
      expect(await request(newApproval({ server }), limits)).not.toBeNull();
    });

    it('end with the grant of their call', async () => {
      const { grant } = await createGrant(store());
      const [waiting, decided] = [await save({ grantId: grant.id }), await save({ grantId: grant.id })];
      await store().decideApproval(decided.id, approved(), NOW);
      await store().revokeGrant(grant.id, NOW);
      expect(await store().findApproval(waiting.id, NOW)).toBeNull();
      expect(await store().decideApproval(waiting.id, approved(), NOW)).toBe(false);
      expect(await consume(decided.id)).toBe(false);
      expect(await listIds({ subject: waiting.subject })).toEqual([]);
    });

    it('are swept once they have expired', async () => {
      const { id, expiresAt } = await save();
      await store().sweep(expiresAt, 10);
      expect(await store().findApproval(id, NOW)).toBeNull();
    });
  });
}
