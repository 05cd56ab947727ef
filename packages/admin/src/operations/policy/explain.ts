/** Explains what the rules of a server decide: for one caller, or for every account. */
import type { GatewayServer } from '@portcullis/gateway/options';
import {
  type AccessPrincipal,
  createCallArguments,
  NO_ARGUMENTS,
  type ToolAnnotations,
} from '@portcullis/policy';
import type { McpOperation } from '@portcullis/protocol';
import * as z from 'zod';
import type { Administration } from '../administration.ts';
import { OperationError } from '../errors.ts';
import { findUser } from '../users.ts';
import { listAccess, type ServerAccess } from './access.ts';
import {
  createPolicyFinder,
  decideByReview,
  type ExplainedDecision,
  explainOperation,
  type NamedOperation,
  namedOperation,
  optionalName,
  outcomeText,
} from './operation.ts';
import { createPrincipals } from './principal.ts';

export const supposedCall = {
  ...namedOperation,
  user: optionalName('identifier or email address; without one, the call has no token'),
  client: optionalName('a `client_id`'),
  // By default, those of the user's connection with the client if there is one.
  scopes: z
    .array(z.string().max(200))
    .max(100)
    .optional()
    .describe('of the token; what the user can be granted by default'),
  arguments: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('without them, conditions that read arguments stay open'),
};

/** What explanations read. */
export type PolicySources = Pick<Administration, 'accounts' | 'clock' | 'issuer' | 'servers' | 'store'> &
  Parameters<typeof createPrincipals>[1];

/** A supposed call. */
export interface SupposedCall extends Readonly<z.infer<z.ZodObject<typeof supposedCall>>> {
  /** Further claims of the token, such as `acr`. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Network address of the client. */
  readonly network?: string | undefined;
}

/** A decision about a call, with what it was made from, and what the user cannot be granted. */
export interface ExplainedCall extends ExplainedDecision {
  readonly server: GatewayServer;
  readonly operation: McpOperation;
  /** `null`: there is no token. */
  readonly principal: AccessPrincipal | null;
  /** `null`: the tool has no approved definition. */
  readonly hints: ToolAnnotations | null;
  /** Whether it is refused until its definition is approved. */
  readonly isUnreviewed: boolean;
  readonly notGrantable: readonly { readonly scope: string; readonly reason: string }[];
}

/** Explains what is decided about a call. @throws OperationError for an unknown server, operation or user */
export async function explainCall(admin: PolicySources, given: SupposedCall): Promise<ExplainedCall> {
  const servers = admin.servers();
  const found = (await createPolicyFinder({ servers }))(given);
  const { server, operation } = found;
  const caller = given.user === undefined ? null : await callerOf(admin, given, given.user);
  const principal = caller?.principal ?? null;
  const approved = await findHints(admin, server);
  const hints = approved.get(operation.tool ?? '') ?? null;
  const call = argumentsOf(given, operation.tool);
  const { decision: byRules, considered } = explainOperation(
    found,
    principal,
    hints,
    admin.clock(),
    call,
    given.network,
  );
  const decision = decideByReview(byRules, found, approved, servers);
  const isUnreviewed = decision !== byRules;
  const notGrantable = caller?.notGrantable ?? [];
  return { decision, considered, server, operation, principal, hints, isUnreviewed, notGrantable };
}

/** The gateway is loaded when it is needed: commands that explain nothing start without it. */
async function findHints({ store }: PolicySources, server: GatewayServer) {
  const { findApprovedHints } = await import('@portcullis/gateway');
  return findApprovedHints(store, server);
}

async function callerOf(admin: PolicySources, given: SupposedCall, user: string) {
  const { principalOf } = createPrincipals({ servers: admin.servers() }, admin, admin.issuer);
  const { server, client = '', scopes = null, claims = {} } = given;
  return principalOf(await findUser(admin, user), { server, client, scopes, claims });
}

function argumentsOf({ arguments: given }: SupposedCall, tool: string | null) {
  if (given === undefined) return tool === null ? NO_ARGUMENTS : ('later' as const);
  return createCallArguments(() => JSON.stringify(given));
}

/** What a user, or the members of a group, may call; without both, what needs no token. */
export async function findAccess(
  admin: PolicySources,
  { user, group, client = '' }: Readonly<Partial<Record<'user' | 'group' | 'client', string | undefined>>>,
): Promise<readonly ServerAccess[]> {
  if (user !== undefined && group !== undefined)
    throw new OperationError('invalid', 'Name a user or a group, not both.');
  const servers = admin.servers();
  const { principalOf, memberOf } = createPrincipals({ servers }, admin, admin.issuer);
  const account = user === undefined ? null : await findUser(admin, user);
  return listAccess({
    ...{ servers, client, now: admin.clock() },
    findHints: (server) => findHints(admin, server),
    async principalAt(token) {
      if (group !== undefined) return memberOf(group, token).principal;
      return account === null ? null : (await principalOf(account, token)).principal;
    },
  });
}

/** A user who may perform an operation. */
export const permittedUserSchema = z
  .object({
    id: z.string(),
    email: z.string(),
    groups: z.array(z.string()),
    outcome: z.string().describe('what remains to be done or met'),
  })
  .meta({ id: 'PermittedUser' });

type PermittedUser = z.infer<typeof permittedUserSchema>;

/** Accounts that are read for one page: several reads each. */
export const MOST_ACCOUNTS = 1000;

/**
 * The users who may perform an operation, among the next accounts that can sign in, in the order of their addresses.
 * @param page `after`: the key of the last account of the page before
 */
export async function findPermittedUsers(
  admin: PolicySources,
  named: NamedOperation & { readonly client?: string | undefined },
  { after = '', limit = MOST_ACCOUNTS }: { readonly after?: string; readonly limit?: number } = {},
): Promise<{
  readonly users: readonly PermittedUser[];
  readonly withoutToken: string | null;
  /** The key for the next page; `null`: this is the last. */
  readonly next: string | null;
}> {
  const servers = admin.servers();
  const policy = (await createPolicyFinder({ servers }))(named);
  const { principalOf } = createPrincipals({ servers }, admin, admin.issuer);
  const token = { server: named.server, client: named.client ?? '', scopes: null, claims: {} };
  const outcomeOf = (principal: Parameters<typeof explainOperation>[1]) =>
    outcomeText(explainOperation(policy, principal, null, admin.clock()));
  const users: PermittedUser[] = [];
  const read = await admin.accounts.list(after, limit + 1);
  for (const account of read.slice(0, limit)) {
    if (account.disabledAt !== null) continue;
    const { principal, groups } = await principalOf(account, token);
    const outcome = outcomeOf(principal);
    if (outcome !== null) users.push({ id: account.id, email: account.email, groups: [...groups], outcome });
  }
  const next = read.length > limit ? (read[limit - 1]?.emailKey ?? null) : null;
  return { users, withoutToken: outcomeOf(null), next };
}
