/** `portcullis policy who-can`: the users who may perform an operation, and their groups. */
import {
  createPolicyFinder,
  createPrincipals,
  enabledAccounts,
  explainOperation,
  type NamedOperation,
  operationText,
  outcomeText,
} from '@portcullis/admin/operations';
import type { DecidingPolicy } from '@portcullis/gateway/options';
import type { AccessPrincipal } from '@portcullis/policy';
import type { ProcessContext } from '../../process-context.ts';
import { cleanJson, cleanLine } from '../../terminal/clean.ts';
import { columns } from '../../terminal/columns.ts';
import { findServers, withPolicySources } from '../configured-servers.ts';

export interface WhoCanFlags extends NamedOperation {
  readonly client?: string;
  readonly json?: true;
}

interface Outcome {
  readonly id: string;
  readonly email: string;
  readonly groups: readonly string[];
  /** What remains to be done or met; `null`: the user may not. */
  readonly outcome: string | null;
}

export async function whoCan(flags: WhoCanFlags, processContext: ProcessContext): Promise<void> {
  const configured = await findServers(flags, processContext);
  const found = (await createPolicyFinder(configured))(flags);
  const { client = '' } = flags;
  if (client === '' && dependsOnClient(found))
    throw new Error('The rules of this operation or its scopes depend on the client: name one with --client');
  const text = await withPolicySources(configured, async (sources) => {
    const { accounts, clock, issuer } = sources;
    const { principalOf } = createPrincipals(configured, sources, issuer);
    const token = { server: flags.server, client, scopes: null, claims: {} };
    const outcomes: Outcome[] = [];
    for await (const account of enabledAccounts(accounts)) {
      const { principal, groups } = await principalOf(account, token);
      const outcome = outcomeOf(found, principal, clock());
      outcomes.push({ id: account.id, email: account.email, groups, outcome });
    }
    return whoCanText(found, outcomes, outcomeOf(found, null, clock()), flags.json === true);
  });
  processContext.write(text);
}

function dependsOnClient({ policy, operation }: DecidingPolicy): boolean {
  const rules = policy.rulesFor(operation, null);
  const limits = rules.flatMap(({ rule }) => (rule.scopes ?? []).map((scope) => policy.limits[scope]));
  const reads = ({ when = '' }: { readonly when?: string | undefined }) => /\bclient\b/.test(when);
  return (
    rules.some(({ rule }) => rule.clients !== undefined || reads(rule)) || limits.some((one) => one?.clients)
  );
}

function outcomeOf(found: DecidingPolicy, principal: AccessPrincipal | null, now: number): string | null {
  return outcomeText(explainOperation(found, principal, null, now));
}

function whoCanText(
  { server, operation }: DecidingPolicy,
  outcomes: readonly Outcome[],
  anonymous: string | null,
  asJson: boolean,
): string {
  const users = outcomes.filter(({ outcome }) => outcome !== null);
  const names = [...new Set(outcomes.flatMap(({ groups }) => groups))].toSorted();
  const groups = names.map((name) => ({
    name,
    allowed: users.filter((one) => one.groups.includes(name)).length,
    members: outcomes.filter((one) => one.groups.includes(name)).length,
  }));
  if (asJson)
    return `${cleanJson({ server: server.path, operation, withoutToken: anonymous, users, groups })}\n`;
  const rows = users.map(({ email, id, outcome }) => [`  ${cleanLine(email)}`, id, cleanLine(outcome ?? '')]);
  return [
    `${server.path}: ${cleanLine(operationText(operation))}\n`,
    columns(rows),
    `${users.length} of ${outcomes.length} users who can sign in\n`,
    ...(groups.length === 0 ? [] : ['Groups:\n', columns(groups.map(groupRow))]),
    `Without an access token: ${anonymous ?? 'no'}\n`,
  ].join('');
}

function groupRow({ name, allowed, members }: { name: string; allowed: number; members: number }) {
  return [`  ${cleanLine(name)}`, `${allowed} of ${members}`];
}
