/** Approval administration: lists the calls that wait for a decision, and decides about one. */
import type { StoreContext } from '../context.ts';
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
  /** Name and value of each argument, and of other parameters with an effect (`params._meta`); characters that are not seen are written as `<U+202E>`. */
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
   * @param accountId of the operator, for the audit log; `null`: on the command line
   * @returns `false` when it was decided already, has expired, or its rule does not offer the choice
   */
  decide(id: string, choice: ApprovalChoice, reason?: string, accountId?: string | null): Promise<boolean>;
}

const MAX_LISTED = 1000;
/** Characters that tell two approvals apart. */
const MIN_BEGINNING = 6;

/** Creates the administration of approvals. */
export function createApprovalAdministration(context: StoreContext): ApprovalAdministration {
  const { store, clock } = context;

  const listPending = () => store.listPendingApprovals({ all: true }, clock(), MAX_LISTED);

  async function describe(approval: ApprovalRecord): Promise<ListedApproval> {
    const { id, subject, clientId, server, tool, rule, createdAt, expiresAt } = approval;
    const { arguments: given, approverGroups, reusableFor } = approval;
    const account = await store.findAccount(subject);
    return {
      ...{ id, clientId, server, tool, rule, createdAt, expiresAt },
      ...{ arguments: given, approverGroups, reusableFor },
      account: account?.email ?? null,
      // Read on use: most lists show none, and those of a page of approvals may be megabytes.
      get shownArguments() {
        return readShownArguments(given).map(
          ({ name, text }) => [escapedText(name, { isName: true }), escapedText(text)] as const,
        );
      },
      description: describeTool(approval).description,
    };
  }

  return {
    list: async () => Promise.all((await listPending()).map(describe)),
    async find(id) {
      if (id.length < MIN_BEGINNING) return null;
      const named = await store.findApproval(id, clock());
      if (named !== null) return named.outcome === null ? describe(named) : null;
      const [found, ...others] = (await listPending()).filter((one) => one.id.startsWith(id));
      return found !== undefined && others.length === 0 ? describe(found) : null;
    },
    async decide(id, choice, reason, accountId = null) {
      const approval = await store.findApproval(id, clock());
      if (approval === null) return false;
      return decideApproval(context, approval, choice, accountId, reason);
    },
  };
}
