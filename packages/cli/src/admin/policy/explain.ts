/** `portcullis policy explain`: what is decided about one operation, by which rule, and what else was considered. */
import {
  type ExplainedCall,
  explainCall,
  type NamedOperation,
  operationText,
} from '@portcullis/admin/operations';
import { isObject, type Json, parseJson } from '../../json.ts';
import type { ProcessContext } from '../../process-context.ts';
import { cleanJson, cleanLine } from '../../terminal/clean.ts';
import { columns } from '../../terminal/columns.ts';
import { findServers, withPolicySources } from '../configured-servers.ts';
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
  const { user, client = '', scopes, claims, arguments: given } = flags;
  if (user === undefined && (client !== '' || scopes !== undefined || claims !== undefined))
    throw new Error('--client, --scopes and --claims need --user: without one, the request has no token');
  const call = {
    ...flags,
    scopes: scopes?.split(/[ ,]+/).filter((scope) => scope !== ''),
    claims: claims === undefined ? {} : readObject(claims, '--claims'),
    arguments: given === undefined ? undefined : readObject(given, '--arguments'),
  };
  const configured = await findServers(flags, processContext);
  const explained = await withPolicySources(configured, (sources) => explainCall(sources, call));
  const { isUnreviewed: _, principal: caller, server, ...decided } = explained;
  processContext.write(
    flags.json
      ? `${cleanJson({ server: server.path, caller, ...decided })}\n`
      : explanationText(explained, `${processContext.command} servers review`),
  );
  if (configured.installation.settings.policy?.authzen !== undefined)
    processContext.complain('the external decision point, which may still refuse, was not asked');
}

/** @param review the command that reviews definitions */
function explanationText(explained: ExplainedCall, review: string): string {
  const { server, operation, decision, considered, isUnreviewed, notGrantable } = explained;
  const open = considered.filter(({ outcome }) => outcome === 'open');
  const limited = notGrantable.map(({ scope, reason }) => [`  ${scope}`, reason]);
  return [
    `${server.path}: ${cleanLine(operationText(operation))}\n`,
    columns(factsOf(explained).map(([name, text]) => [`  ${name}`, cleanLine(text)])),
    decisionText(decision, open),
    isUnreviewed ? `  ${review} lists the definitions that wait\n` : '',
    'Considered:\n',
    considered.length === 0 ? '  no rule\n' : consideredText(considered),
    ...(limited.length === 0 ? [] : ['Scopes that the user cannot be granted:\n', columns(limited)]),
  ].join('');
}

function factsOf({
  principal,
  server,
  hints,
}: ExplainedCall): readonly (readonly [name: string, text: string])[] {
  const hint =
    hints === null ? 'unknown' : hints.destructive ? 'destructive' : hints.readOnly ? 'read-only' : 'none';
  const isUnapproved = hints === null && server.review === 'first-use';
  const tool = ['hints', `${hint}${isUnapproved ? ': no approved definition' : ''}`] as const;
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

/** @throws Error that names the flag */
export function readObject(text: string, flag: string): Json {
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw new Error(`${flag} must be a JSON object such as '{"amount":100}'`);
}
