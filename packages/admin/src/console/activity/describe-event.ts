/** Says in plain words what an event was: "Notes was refused `delete_page` for ada@example.com: group editors is missing". */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';

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

/** Sentences with placeholders; those of refusals and calls are below. */
const SENTENCES: Readonly<Record<string, string>> = {
  'account.created': '{user} got an account',
  'account.disabled': 'The account of {user} was disabled',
  'account.enabled': 'The account of {user} was enabled again',
  'account.invitation_requested': 'An invitation was requested for {user}',
  'account.sign_in_link_requested': '{user} requested a link to sign in',
  'account.link_refused': 'A link to sign in was requested for an address, and not sent{because}',
  'security_event.received': '{provider} sent a security event',
  'security_event_stream.failed': 'The stream of security events of {provider} failed{because}',
  'security_event_stream.updated': '{provider} changed its stream of security events',
  'security_event_stream.verified': '{provider} verified its stream of security events',
  'account.reset_requested': '{user} requested a link to sign in',
  'account.link_used': '{user} used a one-time link',
  'account.linked': '{user} was recognized by a verified address, as {issuer} states it',
  'account.removed': 'The account {user} was removed',
  'account.reset_link_created': 'A one-time link to sign in was created for {user}',
  'account.profile_changed': 'The groups of {user} changed from {previousGroups} to {groups}',
  'account.role_changed': '{user} became {role}',
  'admin.changed': '{user} changed {operation} of {target}{because}',
  'approval.consumed': '{app} used the approval of {tool} for {user}',
  'approval.granted': '{decidedBy} approved the call of {tool} by {app} for {user}',
  'approval.requested': '{app} waits for an approval to call {tool} for {user}',
  'assertion.issued': '{app} got an assertion for {audience} for {user}',
  'audit.delayed': '{count} events were stored late',
  'authorization.started': '{app} asked for access',
  'authorization_code.issued': '{app} got an authorization code for {user}',
  'client.added': 'The app {app} was added',
  'client.changed': 'The app {app} changed its registration',
  'client.disabled': 'The app {app} was disabled',
  'client.enabled': 'The app {app} was enabled again',
  'server.started': 'Portcullis {version} started',
  'configuration.reloaded': 'The servers of the configuration file were reloaded: {servers} now',
  'client.verified': 'The app {app} was verified',
  'client.unverified': 'The verification of the app {app} was taken back',
  'client.registered': '{app} registered itself',
  'client.removed': 'The app {app} was removed',
  'client.secret_rotated': 'The secret of {app} was replaced',
  'consent.allowed': '{user} allowed {app} access',
  'consent.remembered': '{app} had the access of {user} before, and was not asked again',
  'data_key.created': 'A key that encrypts stored tokens was created',
  'device_authorization.approved': '{user} approved the device of {app}',
  'device_authorization.started': 'A device of {app} asked for access',
  'event_stream.changed': '{app} changed its event stream',
  'event_stream.created': '{app} created an event stream',
  'event_stream.removed': 'The event stream of {app} was removed',
  'event_stream.verification_requested': '{app} requested verification of its event stream',
  'federated_login.started': 'A user was sent to {provider} to sign in',
  'grant.revoked': 'The access of {app} to what {user} has was ended{because}',
  'initial_access_token.created': 'A token with which an app may register was created',
  'initial_access_token.revoked': 'A token with which an app may register was revoked',
  'key.created': 'The signing key {keyId} was created',
  'key.reencrypted': '{count} keys were encrypted under a new master key',
  'key.removed': 'The key {keyId} was removed',
  'key.rotated': 'The signing key was rotated to {keyId}',
  'login.succeeded': '{user} signed in',
  'metadata.read': 'Metadata was read: {path}',
  'passkey.added': '{user} added a passkey',
  'passkey.removed': '{user} removed a passkey',
  'password.changed': '{user} changed the password',
  'personal_access_token.created': '{user} created a personal access token',
  'provider_token.discarded': 'Unneeded tokens of {provider} were revoked',
  'provider_token.ended': 'The tokens of {provider} for {user} ended{because}',
  'provider_token.refreshed': 'The tokens of {provider} for {user} were refreshed',
  'provider_token.released': '{app} got the token of {provider} for {user}',
  'provider_token.revocation_finished': 'Tokens of {provider} were revoked there{because}',
  'provider_token.stored': 'Tokens of {provider} for {user} were stored',
  'refresh_token.ahead_of_store':
    'A refresh token of {app} for {user} was newer than the database: expected after a restore',
  'refresh_token.retried': '{app} used a refresh token of {user} twice, and got the same one',
  'refresh_token.rotated': '{app} refreshed its token for {user}',
  'scim.group_changed': '{provider} changed a group',
  'scim.group_created': '{provider} created a group',
  'scim.group_removed': '{provider} removed a group',
  'scim.token_created': 'A provisioning token was created for {provider}',
  'scim.token_revoked': 'A provisioning token was revoked',
  'scim.user_changed': '{provider} changed {user}',
  'scim.user_created': '{provider} created {user}',
  'scim.user_removed': '{provider} removed {user}',
  'second_factor.disabled': '{user} turned off the second factor',
  'second_factor.enabled': '{user} turned on a second factor',
  'second_factor.recovery_codes_renewed': '{user} got new recovery codes',
  'session.ended': 'A session of {user} ended{because}',
  'token.exchanged': '{app} exchanged a token of {user}',
  'token.first_used': '{app} used its first token for {user}',
  'token.issued': '{app} got its first token for {user}',
  'token.revoked': '{app} revoked its token for {user}',
  'tool.approved': 'The tool {tool} of {server} was approved',
  'tool.changed': 'The tool {tool} of {server} is new or has changed, and is hidden until it is reviewed',
  'tool.rejected': 'The tool {tool} of {server} was rejected',
};

/** The same of what was refused or failed. */
const REFUSALS: Readonly<Record<string, string>> = {
  'account.reset_refused': 'A link to sign in was requested for {user}, and not sent{because}',
  'approval.denied': '{decidedBy} denied the call of {tool} by {app} for {user}',
  'approval.outcome_unknown':
    'The connection broke while {app} called {tool} for {user}: look there whether it was executed',
  'audit.dropped': '{count} events could not be stored',
  'authorization_code.replayed':
    'An authorization code of {app} for {user} was used again, and its connection ended: investigate',
  'client_metadata_document.rejected': 'The metadata document of {app} could not be used{because}',
  'consent.denied': '{user} denied {app} access',
  'device_authorization.denied': '{user} denied the device of {app}',
  'event_stream.event_rejected': '{app} rejected a security event{because}',
  'federated_login.failed': 'A sign-in at {provider} failed{because}',
  'identity_provider.failed': '{provider} could not be used{because}',
  'key_ring.refresh_failed': 'Signing keys could not be loaded{because}',
  'login.failed': 'A sign-in of {user} failed',
  'mail.rejected': 'A message to {user} was not accepted by its mail server{because}',
  'passkey.clone_detected': 'A passkey of {user} seems to be cloned: investigate',
  'refresh_token.reuse_detected':
    'An old refresh token of {app} for {user} was used: its tokens were revoked, investigate',
  'request.failed': 'A request to {endpoint} failed here: report it{because}',
  'webhook.event_rejected': 'The webhook {webhook} rejected an event{because}',
  'request.rejected': '{appOrRequest} was refused at {endpoint} with {error}{because}',
};

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
  const refusal = REFUSALS[type];
  const sentence = refusal ?? specialSentence(event) ?? SENTENCES[type] ?? type.replaceAll(/[._]/g, ' ');
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
