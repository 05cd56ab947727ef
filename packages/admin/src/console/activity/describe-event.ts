/** Says in plain words what an event was: "Notes was refused `delete_page` for ada@example.com: group editors is missing". */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { eventSentences, refusalSentences } from '../../operations/event-types.ts';

/** A piece of a sentence: plain words, or a text that others chose. */
export type Piece = string | { readonly code: string } | { readonly name: string };

/** How an event is shown: refusals and changes stand out. */
type Tone = 'plain' | 'refused' | 'changed';

/** Names in place of identifiers. */
export interface EventNames {
  readonly users: ReadonlyMap<string, string>;
  readonly apps: ReadonlyMap<string, string>;
}

/** What an event was. */
export interface EventWords {
  readonly pieces: readonly Piece[];
  readonly tone: Tone;
}

/** What is said of a call, by its decision; of an allowed one `OUTCOMES` say how it ended. */
const DECISIONS: Readonly<Record<string, string>> = {
  allowed: '{app} called {tool} of {server} for {user}',
  insufficient_scope: '{app} needs more permissions of {user} to call {tool} of {server}',
  step_up: '{app} needs a stronger sign-in of {user} to call {tool} of {server}',
  unapproved: '{app} was refused {tool} for {user}: its definition waits for review',
  approval_required: '{app} may call {tool} for {user} once it is approved',
  approval_denied: '{app} was refused {tool} for {user}: an approver denied it',
  limited: '{app} was refused {tool} of {server} for {user}: over a limit{because}',
  invalid: '{app} sent {server} a request that is not valid{because}',
};
const DENIED = '{app} was refused {tool} for {user}{because}';

const OUTCOMES: Readonly<Record<string, string>> = {
  error: ', which responded with an error',
  unavailable: ', which was unavailable',
  timeout: ', which did not respond in time',
  connection_required: ', who has to connect an account there first',
  too_long: ', whose response was too long',
  cancelled: ', and gave up',
};

/** What operators, or the configuration of servers, changed. */
const CHANGED =
  /^(admin|tool|key|client|initial_access_token|scim)\.|^account\.(disabled|enabled|removed|role_changed|profile_changed)$/;

/** Of an event that did less than its sentence says. */
function specialSentence({ type, details }: AuditEventRecord): string | null {
  if (type === 'account.role_changed' && details['role'] === null)
    return '{user} lost the role {previousRole}';
  return type === 'account.profile_changed' && String(details['groups']) === String(details['previousGroups'])
    ? 'The name of {user} was changed'
    : null;
}

const ROLES: Readonly<Record<string, string>> = { operator: 'an operator', viewer: 'a viewer' };

/** Describes an event. A type of another version is named. */
export function describeEvent(event: AuditEventRecord, names: EventNames): EventWords {
  const { type, details } = event;
  if (type === 'call.finished') {
    const { decision, outcome } = details;
    const isAllowed = decision === 'allowed';
    const sentence = DECISIONS[String(decision)] ?? DENIED;
    const ending = isAllowed ? (OUTCOMES[String(outcome)] ?? '') : '';
    const failed = outcome === 'unavailable' || outcome === 'timeout';
    return {
      pieces: fill(sentence + ending, event, names),
      // A call that waits for an approval is not refused yet.
      tone: (isAllowed && !failed) || decision === 'approval_required' ? 'plain' : 'refused',
    };
  }
  const refusal = refusalSentences[type];
  const sentence = refusal ?? specialSentence(event) ?? eventSentences[type] ?? type.replaceAll(/[._]/g, ' ');
  const tone = refusal !== undefined ? 'refused' : CHANGED.test(type) ? 'changed' : 'plain';
  return { pieces: fill(sentence, event, names), tone };
}

function fill(sentence: string, event: AuditEventRecord, names: EventNames): readonly Piece[] {
  // A client that acts for itself has no user.
  const said = event.accountId === null ? sentence.replace(' for {user}', '') : sentence;
  const pieces = said
    .split(/\{(\w+)\}/)
    .map((text, index) => (index % 2 === 0 ? text : pieceOf(text, event, names)));
  const [first, ...rest] = pieces.filter((piece) => piece !== '');
  if (first === undefined) return [];
  return [typeof first === 'string' ? first.charAt(0).toUpperCase() + first.slice(1) : first, ...rest];
}

/** What stands for a name that an event does not have. */
const UNKNOWN: Readonly<Record<string, string>> = {
  user: 'a user',
  app: 'an app',
  appOrRequest: 'a request',
  provider: 'an identity provider',
  server: 'a server',
  tool: 'it',
  target: 'something',
  groups: 'none',
  previousGroups: 'none',
  decidedBy: 'an approver',
  count: 'some',
};

function pieceOf(name: string, { accountId, clientId, details }: AuditEventRecord, names: EventNames): Piece {
  const detail = (member: string) =>
    typeof details[member] === 'string' || typeof details[member] === 'number'
      ? String(details[member])
      : null;
  const named = (text: string | null): Piece =>
    text === null ? (UNKNOWN[name] ?? 'something') : { name: text };
  const code = (text: string | null): Piece =>
    text === null ? (UNKNOWN[name] ?? 'something') : { code: text };
  switch (name) {
    case 'user':
      return named(accountId === null ? null : (names.users.get(accountId) ?? accountId));
    case 'app':
    case 'appOrRequest':
      return named(clientId === null ? detail('site') : (names.apps.get(clientId) ?? clientId));
    case 'provider':
      return named(detail('identityProvider') ?? detail('backend'));
    case 'decidedBy': {
      const by = detail('decidedBy');
      return by === null || by === 'operator' ? 'an operator' : named(names.users.get(by) ?? by);
    }
    case 'tool':
      return code(detail('tool') ?? detail('target') ?? detail('method'));
    case 'groups':
    case 'previousGroups': {
      const groups = details[name];
      return named(Array.isArray(groups) && groups.length > 0 ? groups.join(', ') : null);
    }
    case 'because': {
      const reason = detail('reason');
      return reason === null || reason === detail('error') ? '' : { name: `: ${reason}` };
    }
    case 'count':
    case 'issuer':
    case 'audience':
    case 'previousRole':
      return named(detail(name));
    case 'role': {
      const role = detail(name) ?? '';
      return ROLES[role] ?? code(role);
    }
    default:
      return code(detail(name));
  }
}
