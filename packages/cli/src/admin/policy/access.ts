/** `portcullis access`: what a user, or the members of a group, may call, and by which rules. */
import {
  createPolicyFinder,
  createPrincipals,
  type ExplainedDecision,
  explainWithoutArguments,
  type FindPolicy,
  outcomeText,
  type Principals,
  type SupposedToken,
} from '@portcullis/admin/operations';
import { type GatewayServer, mergedName } from '@portcullis/gateway/options';
import type { AccessPrincipal, ToolAnnotations } from '@portcullis/policy';
import type { Command } from 'commander';
import type { ProcessContext } from '../../process-context.ts';
import { cleanJson, cleanLine } from '../../terminal/clean.ts';
import { columns } from '../../terminal/columns.ts';
import { requireAccount } from '../accounts.ts';
import { findServers, serverAt } from '../configured-servers.ts';
import { addSubcommand } from '../subcommand.ts';
import { issuerOf, type Tools, withStore } from '../with-store.ts';

interface AccessFlags {
  readonly user?: string;
  readonly group?: string;
  readonly client?: string;
  readonly json?: true;
}

/** What is decided about a tool of a server. */
interface ToolAccess {
  /** A name, or a pattern of the configuration, for tools that the gateway has not seen. */
  readonly tool: string;
  /** What remains to be done or met; `null`: refused. */
  readonly outcome: string | null;
  /** Why it is refused; `null`: it is not. */
  readonly because: string | null;
}

export function defineAccess(program: Command, processContext: ProcessContext): void {
  addSubcommand(
    program,
    'access',
    'list what a user or a group may call, and what refuses the rest',
    undefined,
    'Without --user and --group: what needs no access token. Tools are those that the gateway has seen, and the patterns of the configuration for others. `policy explain` shows each rule of one.',
  )
    .option('--user <account>', 'email address or ID of an account')
    .option('--group <name>', 'name of a group; other claims of its members are taken as unknown')
    .option('--client <id>', '`client_id` of the app that they use')
    .option('--json', 'as JSON')
    .action((flags: AccessFlags) => showAccess(flags, processContext));
}

async function showAccess(flags: AccessFlags, processContext: ProcessContext): Promise<void> {
  const { user, group, client = '' } = flags;
  if (user !== undefined && group !== undefined) throw new Error('Name a user or a group, not both');
  const configured = await findServers(flags, processContext);
  const findPolicy = await createPolicyFinder(configured);
  const issuer = issuerOf(configured.installation.settings);
  const text = await withStore(configured.installation, async (tools) => {
    const principalAt = await findCaller(flags, createPrincipals(configured, tools, issuer));
    const found: { readonly server: string; readonly tools: readonly ToolAccess[] }[] = [];
    for (const server of configured.servers) {
      const token = { server: server.path, client, scopes: null, claims: {} };
      const principal = await principalAt(token);
      const hints = await findTools(server, configured.servers, tools);
      const caller = { principal, findPolicy, now: tools.clock() };
      found.push({ server: server.path, tools: [...hints].map((tool) => decide(server, tool, caller)) });
    }
    if (flags.json) return `${cleanJson(found)}\n`;
    return found.map(({ server, tools: all }) => `${server}\n${columns(all.map(toolRow))}`).join('');
  });
  processContext.write(text);
}

/** The caller at each server; `null`: one without an access token. */
async function findCaller(
  { user, group }: AccessFlags,
  { accounts, principalOf, memberOf }: Principals,
): Promise<(token: SupposedToken) => Promise<AccessPrincipal | null>> {
  if (group !== undefined) return async (token) => memberOf(group, token).principal;
  if (user === undefined) return async () => null;
  const account = await requireAccount(accounts, user);
  return async (token) => (await principalOf(account, token)).principal;
}

/** The names of tools with their hints. At a merged server, names begin with the name of a member. */
async function findTools(
  server: GatewayServer,
  servers: readonly GatewayServer[],
  tools: Tools,
): Promise<ReadonlyMap<string, ToolAnnotations | null>> {
  if (server.merges !== null) {
    const members = Object.entries(server.merges).map(async ([prefix, path]) => {
      const found = await findTools(serverAt(servers, path), servers, tools);
      return [...found].map(([name, hints]) => [mergedName(prefix, name), hints] as const);
    });
    return new Map((await Promise.all(members)).flat());
  }
  const { findApprovedHints } = await import('@portcullis/gateway');
  const configured = Object.keys(server.rules.tools ?? { '*': true }).map((name) => [name, null] as const);
  return new Map([...configured, ...(await findApprovedHints(tools.store, server))]);
}

interface Caller {
  readonly principal: AccessPrincipal | null;
  readonly findPolicy: FindPolicy;
  /** Epoch seconds. */
  readonly now: number;
}

/** A pattern is decided about as a tool of this very name, which it matches. */
function decide(
  { path }: GatewayServer,
  [tool, hints]: readonly [string, ToolAnnotations | null],
  { principal, findPolicy, now }: Caller,
): ToolAccess {
  const explained = explainWithoutArguments(findPolicy({ server: path, tool }), principal, hints, now);
  const outcome = outcomeText(explained);
  return { tool, outcome, because: outcome === null ? refusalText(explained) : null };
}

function refusalText({ decision }: ExplainedDecision): string {
  return decision.kind === 'allow' ? '' : `${decision.because.rule}: ${decision.because.reason}`;
}

function toolRow({ tool, outcome, because }: ToolAccess): readonly string[] {
  return [`  ${cleanLine(tool)}`, cleanLine(outcome ?? `refused by ${because}`)];
}
