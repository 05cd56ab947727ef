/** Approvals of calls: pending until they are decided once, and consumed by the call that they allow. */
import { createHash } from 'node:crypto';
import type {
  ApprovalDecision,
  ApprovalFilter,
  ApprovalLimits,
  ApprovalRecord,
  ApprovalStore,
  ApprovedCall,
  NewApproval,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { readJson } from './json.ts';
import { defineRecordColumns } from './record-columns.ts';
import { defineQuery, type Query, sql } from './sql.ts';

const MEMBERS = `id subject clientId grantId server tool argumentsHash rule arguments definition approverGroups:json reusableFor
  createdAt expiresAt outcome decidedBy decidedAt reason isReusable:boolean consumedAt`;
const columns = defineRecordColumns<ApprovalRecord>(MEMBERS);
const COLUMNS = columns.select();
const insertApproval = defineRecordColumns<ApprovalRecord & { readonly callHash: string }>(
  `${MEMBERS} callHash`,
).insertInto('approvals');

/** An approval ends with the grant of its call. With `EXISTS`, PostgreSQL would read the table of grants as a whole. */
const IS_LIVE = `expires_at > ? AND (grant_id IS NULL OR (SELECT grants.expires_at FROM grants
  WHERE grants.id = approvals.grant_id AND grants.revoked_at IS NULL) > ?)`;

const byId = defineQuery(`SELECT ${COLUMNS} FROM approvals WHERE id = ? AND ${IS_LIVE}`);
/** One that has served its call no longer counts. */
const byCall = defineQuery(`SELECT ${COLUMNS} FROM approvals
  WHERE call_hash = ? AND (is_reusable = 1 OR consumed_at IS NULL) AND ${IS_LIVE} ORDER BY created_at DESC, id LIMIT 1`);
const pendingOf = (condition: string) =>
  defineQuery(`SELECT ${COLUMNS} FROM approvals WHERE outcome IS NULL ${condition} AND ${IS_LIVE}
    ORDER BY created_at, id LIMIT ?`);
const allPending = pendingOf('');
const pendingOfSubject = pendingOf('AND subject = ? AND approver_groups IS NULL');
const pendingOfGroups = pendingOf('AND approver_groups = ?');
const countPending = defineQuery(
  `SELECT 1 AS one FROM approvals WHERE outcome IS NULL AND ${IS_LIVE} ORDER BY created_at, id LIMIT ?`,
);
/** A row where there are more than an offset. */
const beyond = (member: 'subject' | 'server') =>
  defineQuery(`SELECT 1 AS one FROM approvals
    WHERE outcome IS NULL AND ${member} = ? AND ${IS_LIVE} LIMIT 1 OFFSET ?`);
const beyondOfSubject = beyond('subject');
const beyondOfServer = beyond('server');
const decide =
  defineQuery(`UPDATE approvals SET outcome = ?, decided_by = ?, decided_at = ?, reason = ?, is_reusable = ?,
  expires_at = ?, arguments = '' WHERE id = ? AND outcome IS NULL AND ${IS_LIVE} RETURNING 1 AS one`);
const usable = defineQuery(`SELECT 1 AS one FROM approvals
  WHERE id = ? AND outcome = 'approved' AND (is_reusable = 1 OR consumed_at IS NULL) AND ${IS_LIVE}`);

export function createApprovalStore(database: Database): ApprovalStore {
  const read = (query: Query) => columns.findAll(database, query);
  /** The lists of approvers that include one of the groups: there are as many as rules. */
  const findGroupLists = async (groups: readonly string[]) => {
    const lists = await database.read<{ readonly approver_groups: string }>(
      sql`SELECT DISTINCT approver_groups FROM approvals WHERE outcome IS NULL AND approver_groups IS NOT NULL`,
    );
    return lists
      .map((row) => row.approver_groups)
      .filter((list) => readJson<readonly string[]>(list).some((group) => groups.includes(group)));
  };
  const listPending = async (filter: ApprovalFilter, now: number, limit: number) => {
    if ('all' in filter) return read(allPending(now, now, limit));
    if ('subject' in filter) return read(pendingOfSubject(filter.subject, now, now, limit));
    const found = await Promise.all(
      (await findGroupLists(filter.groups)).map((groups) => read(pendingOfGroups(groups, now, now, limit))),
    );
    return found
      .flat()
      .toSorted((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))
      .slice(0, limit);
  };
  return {
    requestApproval: (approval, limits) => database.transact(() => request(approval, limits), 'approvals'),
    async findApprovalOfCall(call, now) {
      return (await read(byCall(hashCall(call), now, now)))[0] ?? null;
    },
    findApproval: async (id, now) => (await read(byId(id, now, now)))[0] ?? null,
    listPendingApprovals: listPending,
    async countPendingApprovals(now, limit) {
      return (await database.read(countPending(now, now, limit))).length;
    },
    decideApproval: (id, decision, now) => database.changes(decideQuery(id, decision, now)),
    consumeApprovals: (ids, now) => database.transact(() => consume([...new Set(ids)], now), 'approvals'),
  };
}

function* request(approval: NewApproval, limits: ApprovalLimits): Steps<ApprovalRecord | null> {
  const { subject, server, createdAt } = approval;
  const callHash = hashCall(approval);
  const same = columns.readFirst(yield byCall(callHash, createdAt, createdAt));
  if (same !== null) return same;
  const ofSubject = yield beyondOfSubject(subject, createdAt, createdAt, limits.bySubject - 1);
  const ofServer = yield beyondOfServer(server, createdAt, createdAt, limits.byServer - 1);
  if (ofSubject.length > 0 || ofServer.length > 0) return null;
  const pending = {
    outcome: null,
    decidedBy: null,
    decidedAt: null,
    reason: null,
    isReusable: false,
    consumedAt: null,
  };
  const { backend: _backend, ...shown } = approval;
  const saved: ApprovalRecord = { ...shown, ...pending };
  yield insertApproval({ ...saved, callHash });
  return saved;
}

/** The lookup key of a call and of what its rule demands: a rule that changes keeps its path. */
function hashCall(call: ApprovedCall): string {
  const { subject, clientId, grantId, server, backend, tool, argumentsHash, definition } = call;
  const { rule, approverGroups, reusableFor } = call;
  const bound = [subject, clientId, grantId, server, backend, tool, argumentsHash, definition];
  const members = [...bound, rule, approverGroups, reusableFor];
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url');
}

function decideQuery(id: string, decision: ApprovalDecision, now: number): Query {
  const { outcome, decidedBy, reason, isReusable, expiresAt } = decision;
  return decide(outcome, decidedBy, now, reason, isReusable ? 1 : 0, expiresAt, id, now, now);
}

function* consume(ids: readonly string[], now: number): Steps<boolean> {
  for (const id of ids) if ((yield usable(id, now, now)).length === 0) return false;
  // Point of no return: no other call uses them.
  for (const id of ids) yield sql`UPDATE approvals SET consumed_at = ${now} WHERE id = ${id}`;
  return true;
}
