/** A session as it can be displayed: without secrets. */
import type { CredentialKey, CredentialRecord, Tokens } from '../storage/credentials.ts';

/** A sign-in at one server. */
export interface Session
  extends Omit<CredentialKey, 'clientId'>,
    Pick<Tokens, 'clientId' | 'scopes' | 'scheme' | 'expiresAt'> {
  /** Epoch milliseconds at which the session began. */
  readonly since: number;
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
