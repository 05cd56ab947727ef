/** Which audit events are security events, of which type, and about which subject: one table. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';

const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/';
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';
const SSF = 'https://schemas.openid.net/secevent/ssf/event-type/';

const SESSION_REVOKED = `${CAEP}session-revoked`;
const CREDENTIAL_CHANGE = `${CAEP}credential-change`;
/** @see Shared Signals Framework 1.0 §8.1.4.1 */
const VERIFICATION = `${SSF}verification`;

/** The types that receivers can request. @see CAEP 1.0 §3, RISC 1.0 §2 */
export const SUPPORTED_EVENTS: readonly string[] = [
  SESSION_REVOKED,
  CREDENTIAL_CHANGE,
  `${RISC}account-disabled`,
  `${RISC}account-enabled`,
  `${RISC}account-purged`,
];

/** One event of a security event token. */
export interface TransmittedEvent {
  readonly type: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** The account that it is about; `null`: it is about the stream itself. */
  readonly accountId: string | null;
  /** The grant that has ended, as the session of the user; `null`: the event is about the user as a whole. */
  readonly grantId: string | null;
}

type Described = Pick<TransmittedEvent, 'type' | 'details'>;

type Rule = (event: AuditEventRecord) => readonly Described[];

const because = (initiator: 'admin' | 'user' | 'policy', text: string) => ({
  initiating_entity: initiator,
  reason_admin: { en: text },
});

const revoked = (initiator: 'admin' | 'user' | 'policy', text: string): Described => ({
  type: SESSION_REVOKED,
  details: because(initiator, text),
});

const isByOperator = ({ details }: AuditEventRecord) => details['reason'] === 'operator';

const changed =
  (credential: string, change: 'create' | 'update' | 'revoke' | 'delete', text: string): Rule =>
  (event) => {
    const initiator = isByOperator(event) ? 'admin' : 'user';
    const details = { credential_type: credential, change_type: change, ...because(initiator, text) };
    return [{ type: CREDENTIAL_CHANGE, details }];
  };

const PASSWORD_RESET = changed('password', 'update', 'A reset link replaced the password.');

/** An account that ends takes its sessions along: receivers of CAEP alone need to learn of those. */
const RULES: Readonly<Record<string, Rule>> = {
  'grant.revoked': (event) => {
    const { identityProvider, reason } = event.details;
    if (identityProvider !== undefined)
      return [revoked('policy', 'The identity provider ended the access of the user.')];
    if (reason === 'surplus') return [revoked('policy', 'The user had too many connections of this app.')];
    return [revoked(isByOperator(event) ? 'admin' : 'user', 'The connection was ended.')];
  },
  'token.revoked': () => [revoked('user', 'The app revoked its refresh token.')],
  'refresh_token.reuse_detected': () => [revoked('policy', 'A refresh token was used twice.')],
  'authorization_code.replayed': () => [revoked('policy', 'An authorization code was used twice.')],
  'provider_token.ended': () => [revoked('policy', 'The tokens of the identity provider ended.')],
  'account.disabled': () => [
    { type: `${RISC}account-disabled`, details: {} },
    revoked('admin', 'The account was disabled.'),
  ],
  'account.enabled': () => [{ type: `${RISC}account-enabled`, details: {} }],
  'account.removed': () => [
    { type: `${RISC}account-purged`, details: {} },
    revoked('admin', 'The account was removed.'),
  ],
  // An invitation changes nothing that a receiver could know.
  'account.link_used': (event) => (event.details['purpose'] === 'reset' ? PASSWORD_RESET(event) : []),
  'password.changed': changed('password', 'update', 'The password was changed.'),
  'second_factor.enabled': changed('app', 'create', 'An authenticator app was added.'),
  'second_factor.recovery_codes_renewed': changed('app', 'update', 'The recovery codes were replaced.'),
  'second_factor.disabled': changed('app', 'delete', 'The authenticator app was removed.'),
  'passkey.added': changed('fido2-roaming', 'create', 'A passkey was added.'),
  'passkey.removed': changed('fido2-roaming', 'delete', 'A passkey was removed.'),
};

/** An audit event that asks for a verification event. */
const VERIFICATION_REQUESTED = 'event_stream.verification_requested';

/** The types of audit events that streams are about. */
export const STREAM_EVENTS: readonly string[] = [...Object.keys(RULES), VERIFICATION_REQUESTED];

/** Only a refresh token ends its grant when it is revoked: the event of an access token has a resource. */
function endsNothing({ type, grantId, resource }: AuditEventRecord): boolean {
  return type === 'token.revoked' && (grantId === null || resource !== null);
}

/** The security events that an audit event is for a stream, in their order. */
export function describeSecurityEvents(
  event: AuditEventRecord,
  streamId: string,
): readonly TransmittedEvent[] {
  const { type, at, accountId, grantId, details } = event;
  if (type === VERIFICATION_REQUESTED) {
    if (details['streamId'] !== streamId) return [];
    const { state } = details;
    return [
      { type: VERIFICATION, details: state === undefined ? {} : { state }, accountId: null, grantId: null },
    ];
  }
  const rule = Object.hasOwn(RULES, type) ? RULES[type] : undefined;
  if (rule === undefined || accountId === null || endsNothing(event)) return [];
  return rule(event).map((one) => ({
    type: one.type,
    details: { event_timestamp: Math.floor(at / 1000), ...one.details },
    accountId,
    grantId: one.type === SESSION_REVOKED ? grantId : null,
  }));
}

/** The types that a stream delivers. @param requested empty: all */
export function deliveredEvents(requested: readonly string[]): readonly string[] {
  return requested.length === 0
    ? SUPPORTED_EVENTS
    : SUPPORTED_EVENTS.filter((type) => requested.includes(type));
}
