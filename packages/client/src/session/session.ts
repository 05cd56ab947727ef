/** The session with one server as it may be shown. */
import type { Scopes } from '@portcullis/protocol';
import type { CredentialRecord } from '../store/credential-store.ts';

/** A session as it may be shown: no secret is in it. */
export interface Session {
  readonly server: string;
  readonly issuer: string;
  readonly account: string;
  readonly clientId: string;
  readonly scopes: Scopes;
  readonly scheme: 'Bearer' | 'DPoP';
  /** Epoch milliseconds; `null`: not told. */
  readonly expiresAt: number | null;
  readonly refreshable: boolean;
  /** Where its credentials are kept. */
  readonly place: string;
}

/** What a record shows; `null` when there are no tokens in it. */
export function describeSession({ key, tokens }: CredentialRecord, place: string): Session | null {
  if (tokens === null) return null;
  const { clientId, scopes, scheme, expiresAt, refreshToken } = tokens;
  return { ...key, clientId, scopes, scheme, expiresAt, refreshable: refreshToken !== null, place };
}
