/** Approvals of calls, for a gateway in the same process: found or requested, and used by one call. */
import type { RequiredApproval } from '@portcullis/policy';
import type { ServerContext } from '../context.ts';
import { newTypedSecret } from '../secrets.ts';
import type { ApprovalRecord, ApprovedCall, NewApproval } from '../store/index.ts';
import { factsOf } from './decide.ts';
import { MAX_PENDING_OF_SERVER, MAX_PENDING_OF_SUBJECT, PENDING_LIFETIME } from './rules.ts';

/** A call that its rules allow once it is approved. */
interface ApprovableCall extends Omit<ApprovedCall, 'rule' | 'approverGroups' | 'reusableFor'> {
  /** The issuer of the access token. Subjects and grants are those of this server only. */
  readonly issuer: string;
  /** The approvals that it needs, each by a rule. */
  readonly needed: readonly RequiredApproval[];
  /** JSON text, for the approver: an object, or a list of it and the other parameters with an effect; empty: it has none. */
  readonly arguments: string;
}

/** The approvals of a call, before it uses them. */
export interface ApprovedUse {
  readonly ids: readonly string[];
  /**
   * Uses them for one call, all or none. Atomic, among all processes. The event is stored then, if the store is available.
   * @returns `false`: another call has used one, or it has ended
   */
  consume(): Promise<boolean>;
  /** The call was sent, and whether the backend has executed it is not known. */
  reportUnknownOutcome(): void;
}

/** The state of a call's approvals. */
type CallApproval =
  | { readonly kind: 'approved'; readonly use: ApprovedUse }
  | {
      readonly kind: 'pending';
      /** The page of the approval. */
      readonly url: string;
      /** Whether an approver may know: others decide, or it was requested before. */
      readonly isUnderWay: boolean;
    }
  | { readonly kind: 'denied'; readonly reason: string | null }
  /** There is no user who could decide. */
  | { readonly kind: 'impossible'; readonly reason: string }
  /** Too many are pending. @member retryAfter seconds */
  | { readonly kind: 'busy'; readonly retryAfter: number };

/** Approvals of calls, for a gateway. */
export interface CallApprovals {
  /** The approvals of a call: those that there are, and otherwise requested ones. */
  request(call: ApprovableCall): Promise<CallApproval>;
}

export const APPROVALS_PATH = '/approvals';

interface ApprovalContext extends Pick<ServerContext, 'store' | 'events' | 'clock' | 'options'> {
  /** Stores the events so far. */
  writeEvents(): Promise<void>;
}

export function createCallApprovals(context: ApprovalContext): CallApprovals {
  const origin = new URL(context.options.issuer).origin;
  return {
    async request({ issuer, ...call }) {
      const impossible = (reason: string) => ({ kind: 'impossible', reason }) as const;
      if (issuer !== context.options.issuer)
        return impossible('the token is of another issuer, whose users cannot approve here');
      const isOfUser = call.subject !== call.clientId;
      if (!isOfUser && call.needed.some(({ by }) => by === 'user'))
        return impossible('the call has no user who could approve it');
      const found = await Promise.all(call.needed.map((needed) => findOrRequest(context, call, needed)));
      if (found.includes(null)) return { kind: 'busy', retryAfter: BUSY_RETRY };
      const records = found.filter((one) => one !== null);
      const denied = records.find(({ approval }) => approval.outcome === 'denied');
      if (denied !== undefined) return { kind: 'denied', reason: denied.approval.reason };
      const pending = records.filter(({ approval }) => approval.outcome === null);
      const [first] = pending;
      if (first === undefined) return { kind: 'approved', use: useOf(context, records) };
      const isUnderWay = pending.every(({ approval, isNew }) => !isNew || approval.approverGroups !== null);
      return { kind: 'pending', url: `${origin}${APPROVALS_PATH}/${first.approval.id}`, isUnderWay };
    },
  };
}

/** Seconds. */
const BUSY_RETRY = 60;

interface FoundApproval {
  readonly approval: ApprovalRecord;
  readonly isNew: boolean;
}

/** @returns `null` when too many are pending */
async function findOrRequest(
  { store, events, clock }: ApprovalContext,
  { needed: _needed, ...call }: Omit<ApprovableCall, 'issuer'>,
  { by, lasts, rule }: RequiredApproval,
): Promise<FoundApproval | null> {
  const approvable = {
    ...{ ...call, rule },
    approverGroups: by === 'user' ? null : by.groups,
    reusableFor: lasts === 'call' ? null : lasts,
  };
  const known = await store.findApprovalOfCall(approvable, clock());
  if (known !== null) return { approval: known, isNew: false };
  const createdAt = clock();
  const wanted: NewApproval = {
    ...approvable,
    createdAt,
    id: newTypedSecret(),
    expiresAt: createdAt + PENDING_LIFETIME,
  };
  const limits = { bySubject: MAX_PENDING_OF_SUBJECT, byServer: MAX_PENDING_OF_SERVER };
  const approval = await store.requestApproval(wanted, limits);
  const isNew = approval?.id === wanted.id;
  if (isNew) events({ type: 'approval.requested', ...factsOf(approval) });
  return approval && { approval, isNew };
}

function useOf(
  { store, events, clock, writeEvents }: ApprovalContext,
  records: readonly FoundApproval[],
): ApprovedUse {
  const ids = records.map(({ approval }) => approval.id);
  const report = (type: 'approval.consumed' | 'approval.outcome_unknown') => {
    for (const { approval } of records) events({ type, ...factsOf(approval) });
  };
  return {
    ids,
    async consume() {
      const isConsumed = await store.consumeApprovals(ids, clock());
      if (!isConsumed) return false;
      report('approval.consumed');
      // Before the call is sent: if this process ends, the audit log says that the call may have been executed.
      await writeEvents();
      return true;
    },
    reportUnknownOutcome: () => report('approval.outcome_unknown'),
  };
}
