/** The events of the audit log, by which `portcullis events --type` filters. */
import type { AuthorizationEvent } from '@portcullis/authorization-server';
import type { GatewayAuditEvent } from '@portcullis/gateway';
import { suggestName } from '@portcullis/protocol';
import type {
  ChangeEvent,
  LifecycleEvent,
  MailEvent,
  StreamEvent,
  WebhookEvent,
} from './component-events.ts';
import { OperationError } from './errors.ts';

/** The compiler ensures that none is missing. */
const TYPES: Readonly<
  Record<
    (
      | AuthorizationEvent
      | GatewayAuditEvent
      | ChangeEvent
      | MailEvent
      | LifecycleEvent
      | StreamEvent
      | WebhookEvent
    )['type'],
    true
  >
> = {
  'account.created': true,
  'account.disabled': true,
  'account.enabled': true,
  'account.invitation_requested': true,
  'account.link_used': true,
  'account.linked': true,
  'account.removed': true,
  'account.reset_link_created': true,
  'account.link_refused': true,
  'account.profile_changed': true,
  'account.reset_requested': true,
  'account.role_changed': true,
  'account.sign_in_link_requested': true,
  'admin.changed': true,
  'approval.consumed': true,
  'approval.denied': true,
  'approval.granted': true,
  'approval.outcome_unknown': true,
  'approval.requested': true,
  'assertion.issued': true,
  'audit.delayed': true,
  'audit.dropped': true,
  'authorization.started': true,
  'authorization_code.issued': true,
  'authorization_code.replayed': true,
  'call.finished': true,
  'client.added': true,
  'client.changed': true,
  'client.disabled': true,
  'client.enabled': true,
  'client.registered': true,
  'client.removed': true,
  'client.secret_rotated': true,
  'client.unverified': true,
  'client.verified': true,
  'client_metadata_document.rejected': true,
  'configuration.reloaded': true,
  'consent.allowed': true,
  'consent.denied': true,
  'consent.remembered': true,
  'data_key.created': true,
  'device_authorization.approved': true,
  'device_authorization.denied': true,
  'device_authorization.started': true,
  'event_stream.changed': true,
  'event_stream.created': true,
  'event_stream.event_rejected': true,
  'event_stream.removed': true,
  'event_stream.verification_requested': true,
  'federated_login.failed': true,
  'federated_login.started': true,
  'grant.revoked': true,
  'identity_provider.failed': true,
  'initial_access_token.created': true,
  'initial_access_token.revoked': true,
  'key.created': true,
  'key.reencrypted': true,
  'key.removed': true,
  'key.rotated': true,
  'key_ring.refresh_failed': true,
  'login.failed': true,
  'login.succeeded': true,
  'mail.rejected': true,
  'metadata.read': true,
  'passkey.added': true,
  'passkey.clone_detected': true,
  'passkey.removed': true,
  'password.changed': true,
  'personal_access_token.created': true,
  'provider_token.discarded': true,
  'provider_token.ended': true,
  'provider_token.refreshed': true,
  'provider_token.released': true,
  'provider_token.revocation_finished': true,
  'provider_token.stored': true,
  'refresh_token.ahead_of_store': true,
  'refresh_token.retried': true,
  'refresh_token.reuse_detected': true,
  'refresh_token.rotated': true,
  'request.failed': true,
  'request.rejected': true,
  'scim.group_changed': true,
  'scim.group_created': true,
  'scim.group_removed': true,
  'scim.token_created': true,
  'scim.token_revoked': true,
  'scim.user_changed': true,
  'scim.user_created': true,
  'scim.user_removed': true,
  'second_factor.disabled': true,
  'second_factor.enabled': true,
  'second_factor.recovery_codes_renewed': true,
  'security_event.received': true,
  'security_event_stream.failed': true,
  'security_event_stream.updated': true,
  'security_event_stream.verified': true,
  'server.started': true,
  'session.ended': true,
  'token.exchanged': true,
  'token.first_used': true,
  'token.issued': true,
  'token.revoked': true,
  'tool.approved': true,
  'tool.changed': true,
  'tool.rejected': true,
  'webhook.event_rejected': true,
};

/** All of them, in order. */
export const allEventTypes: readonly string[] = Object.keys(TYPES);

/** @param pattern an event, or the beginning of several with `*` @throws OperationError that suggests a similar one */
export function checkEventType(pattern: string): void {
  if (allEventTypes.some((type) => matchesType(type, pattern))) return;
  const advice = suggestName(pattern, allEventTypes, 'docs/events.md lists all events');
  throw new OperationError('invalid', `There is no event ${JSON.stringify(pattern)}: ${advice}`);
}

export function matchesType(type: string, pattern: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
