/** The session with one server as it may be shown. */
import type { Scopes } from '@portcullis/protocol';
import { sessionKindOf } from '../registration/credential-owner.ts';
import type { CredentialRecord, SessionKind } from '../storage/credential-store.ts';

/** A session as it may be shown: no secret is in it. */
export interface Session {
  readonly server: string;
  readonly issuer: string;
  readonly account: string;
  /** Who acts by it. `unknown`: an earlier version kept it and did not say; it is not used. */
  readonly kind: SessionKind | 'unknown';
  /** The client that it was got by. */
  readonly clientId: string;
  readonly scopes: Scopes;
  readonly scheme: 'Bearer' | 'DPoP';
  /** Epoch milliseconds at which it began; `null`: an earlier version kept it and did not say. */
  readonly since: number | null;
  /** Epoch milliseconds; `null`: not told. */
  readonly expiresAt: number | null;
  readonly refreshable: boolean;
  /** Where its credentials are kept. */
  readonly location: string;
}

/** What a record shows; `null` when there are no tokens in it. */
export function describeSession(record: CredentialRecord, place: string): Session | null {
  const { key, tokens, since = null } = record;
  if (tokens === null) return null;
  const { server, issuer, account } = key;
  const { clientId, scopes, scheme, expiresAt, refreshToken } = tokens;
  const kind = sessionKindOf(record);
  const refreshable = refreshToken !== null;
  return {
    server,
    issuer,
    account,
    kind,
    clientId,
    scopes,
    scheme,
    since,
    expiresAt,
    refreshable,
    location: place,
  };
}
