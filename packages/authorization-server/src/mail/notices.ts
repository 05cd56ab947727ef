/** Notices: which audit events their user is told of by mail, and what "this was not me" ends. */
import type { AuditEventRecord } from '../store/index.ts';

/** What happened, with the identifier of what can be ended. */
type NoticeSubject =
  | { readonly kind: 'sign-in'; readonly sessionId: string }
  | { readonly kind: 'connection'; readonly grantId: string }
  | { readonly kind: 'passkey'; readonly passkeyId: string }
  /** Password or second factor: only the whole account can be secured. */
  | { readonly kind: 'credentials' };

export type NoticeKind = NoticeSubject['kind'];

/** A notice of an account. */
export type Notice = NoticeSubject & {
  readonly accountId: string;
  /** Epoch seconds. */
  readonly at: number;
};

const CREDENTIAL_EVENTS: readonly string[] = [
  'password.changed',
  'second_factor.enabled',
  'second_factor.disabled',
  'second_factor.recovery_codes_renewed',
];

/** @returns `null`: no notice */
export function noticeOf(event: AuditEventRecord): Notice | null {
  const { accountId, at } = event;
  const subject = subjectOf(event);
  return accountId === null || subject === null ? null : { ...subject, accountId, at: Math.floor(at / 1000) };
}

function subjectOf({ type, grantId, details }: AuditEventRecord): NoticeSubject | null {
  const { sessionId, passkeyId, purpose } = details;
  if (type === 'login.succeeded' && typeof sessionId === 'string') return { kind: 'sign-in', sessionId };
  if (['consent.allowed', 'personal_access_token.created'].includes(type) && grantId !== null)
    return { kind: 'connection', grantId };
  if (type === 'passkey.added' && typeof passkeyId === 'string') return { kind: 'passkey', passkeyId };
  const isReset = type === 'account.link_used' && purpose === 'reset';
  return isReset || CREDENTIAL_EVENTS.includes(type) ? { kind: 'credentials' } : null;
}
