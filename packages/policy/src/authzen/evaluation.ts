/**
 * Access requests as evaluations of an external decision point. Pure: another module sends them.
 * @see OpenID Authorization API 1.0 (AuthZEN) §5 to §7
 */
import type { AccessSubject } from '../access-condition.ts';
import type { CallArguments } from '../call-arguments.ts';
import { type AccessPrincipal, type AccessRequest, readAuthentication } from '../request.ts';

type Properties = Readonly<Record<string, unknown>>;

/** A subject or resource. @see AuthZEN §5.1, §5.2 */
interface Entity {
  readonly type: string;
  readonly id: string;
  readonly properties?: Properties;
}

/** One access evaluation request. @see AuthZEN §6.1 */
export interface Evaluation {
  readonly subject: Entity;
  readonly action: { readonly name: string };
  readonly resource: Entity;
  readonly context: Properties;
}

/** Several in one message: what they have in common is a default. @see AuthZEN §7.1.1 */
interface Evaluations extends Pick<Evaluation, 'subject' | 'context'> {
  readonly evaluations: readonly Pick<Evaluation, 'action' | 'resource'>[];
}

/** What operators add, because their decision point demands it. */
export interface EvaluationOptions {
  /** Further properties of each subject, such as `{ "cerbos.roles": ["user"] }`. */
  readonly subject: Properties;
  /** Whether the arguments of calls are sent. */
  readonly arguments: boolean;
}

/** An operation. @throws SyntaxError for arguments that parsers read differently */
export function evaluationOf(request: AccessRequest, options: EvaluationOptions): Evaluation {
  const { principal, operation, server, annotations, network, now } = request;
  const { method, tool, prompt, resource } = operation;
  const type =
    tool !== null ? 'tool' : prompt !== null ? 'prompt' : resource !== null ? 'resource' : 'server';
  const name = tool ?? prompt ?? resource ?? server;
  const given = options.arguments && request.arguments !== 'later' ? request.arguments : null;
  return {
    subject:
      principal === null
        ? { type: 'anonymous', id: 'anonymous', properties: options.subject }
        : subjectOf(principal, principal.subject, options),
    action: { name: method },
    resource: {
      type,
      id: type === 'server' ? server : `${server}#${name}`,
      properties: {
        server,
        name,
        ...(annotations && {
          readOnlyHint: annotations.readOnly,
          destructiveHint: annotations.destructive,
        }),
        ...(given && { arguments: plainArguments(given) }),
      },
    },
    context: {
      ...contextOf(now),
      ...(network !== '' && { network }),
      ...(principal !== null && authenticationOf(principal)),
    },
  };
}

/** Long integers as text: JSON numbers of other parsers would not be exact. */
function plainArguments(given: CallArguments): unknown {
  const plain = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return JSON.parse(JSON.stringify(given.read().value, plain));
}

/** The client and user that a scope is granted to. */
export interface GrantSubject extends AccessSubject {
  /** `null`: the client acts for itself. */
  readonly subject: string | null;
}

/** The grant of a scope at a protected resource. */
export function grantEvaluation(
  scope: string,
  resource: string,
  subject: GrantSubject,
  now: number,
  options: EvaluationOptions,
): Evaluation {
  return {
    subject:
      subject.subject === null
        ? { type: 'client', id: subject.clientId, properties: options.subject }
        : subjectOf(subject, subject.subject, options),
    action: { name: 'grant' },
    resource: { type: 'scope', id: `${resource}#${scope}`, properties: { resource, name: scope } },
    context: contextOf(now),
  };
}

function subjectOf(
  { clientId, groups, claims }: AccessSubject,
  id: string,
  options: EvaluationOptions,
): Entity {
  const { email, name } = claims;
  const about = { ...(typeof email === 'string' && { email }), ...(typeof name === 'string' && { name }) };
  return { type: 'user', id, properties: { ...options.subject, ...about, groups, client: clientId } };
}

function contextOf(now: number): Properties {
  return { time: new Date(now * 1000).toISOString() };
}

function authenticationOf(principal: AccessPrincipal): Properties {
  const { acr, amr, authTime, senderConstrained } = readAuthentication(principal);
  return {
    scopes: principal.scopes,
    sender_constrained: senderConstrained,
    ...(acr !== '' && { acr }),
    ...(amr.length > 0 && { amr }),
    ...(authTime > 0 && { auth_time: new Date(authTime * 1000).toISOString() }),
  };
}

/** @param all of the same subject and context; at least one */
export function joinEvaluations(all: readonly Evaluation[]): Evaluations {
  const [first] = all;
  if (first === undefined) throw new TypeError('there is nothing to evaluate');
  const { subject, context } = first;
  return { subject, context, evaluations: all.map(({ action, resource }) => ({ action, resource })) };
}

/** Equal for evaluations that are decided alike. The time is left out: a cache has a bound of its own. */
export function evaluationKey({ subject, action, resource, context }: Evaluation): string {
  const { time: _, ...rest } = context;
  return JSON.stringify([subject, action, resource, rest]);
}
