/** A session as it can be displayed: without secrets. */
import type { Scopes } from '@portcullis/protocol';
import type { CredentialRecord, SessionKind } from '../storage/credentials.ts';

/** A sign-in at one server. */
export interface Session {
  /** Canonical URL of the protected server. */
  readonly server: string;
  /** Issuer identifier of the authorization server. @see RFC 8414 §2 */
  readonly issuer: string;
  /** Name chosen by the user; `default` where there is only one. */
  readonly account: string;
  /** On whose behalf the session acts. */
  readonly kind: SessionKind;
  /** The client that obtained it. */
  readonly clientId: string;
  /** The granted scopes. */
  readonly scopes: Scopes;
  /** How the access token is sent. @see RFC 6750 §2.1, RFC 9449 §7.1 */
  readonly scheme: 'Bearer' | 'DPoP';
  /** Epoch milliseconds at which the session began. */
  readonly since: number;
  /** Epoch milliseconds; `null`: the server did not say. */
  readonly expiresAt: number | null;
  /** Whether there is a refresh token. */
  readonly refreshable: boolean;
  /** Where its credentials are stored. */
  readonly location: string;
}

/** The session of a record; `null` when it has no tokens. */
export function describeSession(record: CredentialRecord, location: string): Session | null {
  const { key, tokens } = record;
  if (tokens === null) return null;
  const { server, issuer, account, kind } = key;
  const { clientId, scopes, scheme, expiresAt, refreshToken } = tokens;
  const since = record.since ?? tokens.obtainedAt;
  const refreshable = refreshToken !== null;
  return { server, issuer, account, kind, clientId, scopes, scheme, since, expiresAt, refreshable, location };
}
