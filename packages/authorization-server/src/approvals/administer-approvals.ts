/** Approval administration: lists the calls that wait for a decision, and decides about one. */
import type { ServerContext } from '../context.ts';
import type { ApprovalRecord } from '../store/index.ts';
import { decideApproval } from './decide.ts';
import type { ApprovalChoice } from './rules.ts';
import { escapedText, readShownArguments } from './show-text.ts';
import { describeTool } from './tool-description.ts';

/** A pending approval as operators see it. Times in epoch seconds. */
export interface ListedApproval
  extends Pick<
    ApprovalRecord,
    | 'id'
    | 'clientId'
    | 'server'
    | 'tool'
    | 'rule'
    | 'arguments'
    | 'approverGroups'
    | 'reusableFor'
    | 'createdAt'
    | 'expiresAt'
  > {
  /** The user of the call, by address; `null`: the client acts for itself. */
  readonly account: string | null;
  /** Name and value of each argument; characters that are not seen are written as `<U+202E>`. */
  readonly shownArguments: readonly (readonly [name: string, text: string])[];
  /** What its server says about the tool; `null`: nothing. */
  readonly description: string | null;
}

/** Administers the pending approvals of a store, with or without a server beside it. */
export interface ApprovalAdministration {
  /** The oldest first, at most 1,000. */
  list(): Promise<readonly ListedApproval[]>;
  /** @param id or its beginning, if that names one @returns `null`: it names none, or several */
  find(id: string): Promise<ListedApproval | null>;
  /**
   * Decides as an operator, whatever the groups of the rule.
   * @param reason for the app, if it is denied
   * @returns `false` when it was decided already, has expired, or its rule does not offer the choice
   */
  decide(id: string, choice: ApprovalChoice, reason?: string): Promise<boolean>;
}

const MAX_LISTED = 1000;
/** Characters that tell two approvals apart. */
const MIN_BEGINNING = 6;

/** Creates the administration of approvals. */
export function createApprovalAdministration(
  context: Pick<ServerContext, 'store' | 'clock' | 'events'>,
): ApprovalAdministration {
  const { store, clock } = context;

  async function list(): Promise<readonly ListedApproval[]> {
    const pending = await store.listPendingApprovals({ all: true }, clock(), MAX_LISTED);
    return Promise.all(pending.map(describe));
  }

  async function describe(approval: ApprovalRecord): Promise<ListedApproval> {
    const { subject, clientId, server, tool, rule, ...others } = approval;
    const account = await store.findAccount(subject);
    return {
      ...{ id: others.id, clientId, server, tool, rule, arguments: others.arguments },
      approverGroups: others.approverGroups,
      reusableFor: others.reusableFor,
      createdAt: others.createdAt,
      expiresAt: others.expiresAt,
      account: account?.email ?? null,
      shownArguments: readShownArguments(approval.arguments).map(
        ({ name, text }) => [escapedText(name), escapedText(text)] as const,
      ),
      description: describeTool(approval).description,
    };
  }

  return {
    list,
    async find(id) {
      if (id.length < MIN_BEGINNING) return null;
      const found = (await list()).filter((one) => one.id.startsWith(id));
      return found.length === 1 ? (found[0] ?? null) : null;
    },
    async decide(id, choice, reason) {
      const approval = await store.findApproval(id, clock());
      if (approval === null) return false;
      return decideApproval(context, approval, choice, { accountId: null }, reason);
    },
  };
}
