/** `portcullis policy explain`: what is decided about one operation, by which rule, and what else was considered. */
import {
  createPolicyFinder,
  createPrincipals,
  decideByReview,
  type NamedOperation,
  operationText,
  type Principals,
  type SupposedPrincipal,
} from '@portcullis/admin/operations';
import type { DecidingPolicy, GatewayServer } from '@portcullis/gateway/options';
import {
  type AccessPrincipal,
  type AccessRequest,
  type CallArguments,
  createCallArguments,
  NO_ARGUMENTS,
  type ToolAnnotations,
} from '@portcullis/policy';
import { isObject, type Json, parseJson } from '../../json.ts';
import type { ProcessContext } from '../../process-context.ts';
import { cleanJson, cleanLine } from '../../terminal/clean.ts';
import { columns } from '../../terminal/columns.ts';
import { requireAccount } from '../accounts.ts';
import { findServers } from '../configured-servers.ts';
import { issuerOf, withStore } from '../with-store.ts';
import { consideredText, decisionText } from './decision-text.ts';

export interface ExplainFlags extends NamedOperation {
  readonly user?: string;
  readonly client?: string;
  readonly scopes?: string;
  readonly claims?: string;
  readonly arguments?: string;
  readonly network?: string;
  readonly json?: true;
}

export async function explain(flags: ExplainFlags, processContext: ProcessContext): Promise<void> {
  const configured = await findServers(flags, processContext);
  const findPolicy = await createPolicyFinder(configured);
  const found = findPolicy(flags);
  const issuer = issuerOf(configured.installation.settings);
  const text = await withStore(configured.installation, async (tools) => {
    const caller = await callerOf(flags, createPrincipals(configured, tools, issuer));
    const { findApprovedHints } = await import('@portcullis/gateway');
    const approved = await findApprovedHints(tools.store, found.server);
    const review = `${processContext.command} servers review`;
    const { servers } = configured;
    return explanationText(found, { flags, caller, approved, servers, review, now: tools.clock() });
  });
  processContext.write(text);
  if (configured.installation.settings.policy?.authzen !== undefined)
    processContext.complain('the external decision point, which may still refuse, was not asked');
}

/** `null`: a request without a token. */
async function callerOf(
  { user, client = '', scopes, claims, server }: ExplainFlags,
  { accounts, principalOf }: Principals,
): Promise<SupposedPrincipal | null> {
  if (user === undefined) {
    if (client !== '' || scopes !== undefined || claims !== undefined)
      throw new Error('--client, --scopes and --claims need --user: without one, the request has no token');
    return null;
  }
  return principalOf(await requireAccount(accounts, user), {
    server,
    client,
    scopes: scopes?.split(/[ ,]+/).filter((scope) => scope !== '') ?? null,
    claims: claims === undefined ? {} : readObject(claims, '--claims'),
  });
}

interface Supposed {
  readonly flags: ExplainFlags;
  readonly caller: SupposedPrincipal | null;
  /** The hints of approved tools. */
  readonly approved: ReadonlyMap<string, ToolAnnotations>;
  readonly servers: readonly GatewayServer[];
  /** The command that reviews definitions. */
  readonly review: string;
  readonly now: number;
}

function explanationText(found: DecidingPolicy, given: Supposed): string {
  const { server, operation, policy } = found;
  const { flags, caller, approved, servers, review, now } = given;
  const hints = approved.get(operation.tool ?? '') ?? null;
  const request: AccessRequest = {
    principal: caller?.principal ?? null,
    operation,
    server: server.path,
    annotations: hints,
    arguments: argumentsOf(flags, operation.tool),
    now,
    network: flags.network ?? '',
  };
  const { decision: byRules, considered } = policy.explain(request);
  const decision = decideByReview(byRules, found, approved, servers);
  const notGrantable = caller?.notGrantable ?? [];
  if (flags.json)
    return `${cleanJson({ server: server.path, operation, caller: request.principal, hints, decision, considered, notGrantable })}\n`;
  const open = considered.filter(({ outcome }) => outcome === 'open');
  const limited = notGrantable.map(({ scope, reason }) => [`  ${scope}`, reason]);
  return [
    `${server.path}: ${cleanLine(operationText(operation))}\n`,
    columns(factsOf(request.principal, server, hints).map(([name, text]) => [`  ${name}`, cleanLine(text)])),
    decisionText(decision, open),
    decision === byRules ? '' : `  ${review} lists the definitions that wait\n`,
    'Considered:\n',
    considered.length === 0 ? '  no rule\n' : consideredText(considered),
    ...(limited.length === 0 ? [] : ['Scopes that the user cannot be granted:\n', columns(limited)]),
  ].join('');
}

function factsOf(
  principal: AccessPrincipal | null,
  { review }: GatewayServer,
  hints: ToolAnnotations | null,
): readonly (readonly [string, string])[] {
  const hint =
    hints === null ? 'unknown' : hints.destructive ? 'destructive' : hints.readOnly ? 'read-only' : 'none';
  const tool = [
    'hints',
    `${hint}${hints === null && review === 'first-use' ? ': no approved definition' : ''}`,
  ] as const;
  if (principal === null) return [['caller', 'without an access token'], tool];
  const { claims, subject, clientId, scopes, groups } = principal;
  return [
    ['user', `${typeof claims['email'] === 'string' ? `${claims['email']} ` : ''}${subject}`],
    ['groups', groups.join(', ') || 'none that the server is told'],
    ['client', clientId || 'none named'],
    ['scopes', scopes.join(' ') || 'none'],
    tool,
  ];
}

/** Without arguments, conditions that read them stay open. */
function argumentsOf({ arguments: text }: ExplainFlags, tool: string | null): CallArguments | 'later' {
  if (text === undefined) return tool === null ? NO_ARGUMENTS : 'later';
  readObject(text, '--arguments');
  return createCallArguments(() => text);
}

/** @throws Error that names the flag */
export function readObject(text: string, flag: string): Json {
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw new Error(`${flag} must be a JSON object such as '{"amount":100}'`);
}
