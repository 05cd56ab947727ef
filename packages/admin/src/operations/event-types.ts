/** The events of the audit log, by which `portcullis events --type` filters, and what the console says of each. */
import type { AuthorizationEvent } from '@portcullis/authorization-server';
import type { GatewayAuditEvent } from '@portcullis/gateway';
import { suggestName } from '@portcullis/protocol';
import type { AdministrationEvent } from './component-events.ts';
import { OperationError } from './errors.ts';

type EventType = (AuthorizationEvent | GatewayAuditEvent | AdministrationEvent)['type'];

/** Sentences with placeholders of what was refused or failed. */
const REFUSALS = {
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
} as const satisfies Partial<Record<EventType, string>>;

/** Those of all other events: the compiler ensures that none is missing. What is said of a call depends on its decision. */
const SENTENCES: Readonly<Record<Exclude<EventType, keyof typeof REFUSALS | 'call.finished'>, string>> = {
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

export const refusalSentences: Readonly<Record<string, string>> = REFUSALS;
export const eventSentences: Readonly<Record<string, string>> = SENTENCES;

/** All of them, in order. */
export const allEventTypes: readonly string[] = [
  'call.finished',
  ...Object.keys({ ...REFUSALS, ...SENTENCES }),
].toSorted();

/** @param pattern an event, or the beginning of several with `*` @throws OperationError that suggests a similar one */
export function checkEventType(pattern: string): void {
  if (allEventTypes.some((type) => matchesType(type, pattern))) return;
  const advice = suggestName(pattern, allEventTypes, 'docs/events.md lists all events');
  throw new OperationError('invalid', `There is no event ${JSON.stringify(pattern)}: ${advice}`);
}

export function matchesType(type: string, pattern: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
