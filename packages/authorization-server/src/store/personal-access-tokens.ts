/** The store capability `personalAccessTokens`: tokens that users create for their own scripts. */
import type { GrantRecord } from './grants.ts';

/** A personal access token. Its scopes, resource, times and revocation are those of its grant. */
export interface PersonalAccessTokenRecord {
  readonly grantId: string;
  /** Base64url SHA-256 of the token. */
  readonly hash: string;
  /** As its user named it. */
  readonly name: string;
}

/** Store capability for personal access tokens. */
export interface PersonalAccessTokenStore {
  /**
   * Inserts a token with its grant, which has no refresh token. Atomic: if the account is disabled or removed concurrently,
   * either nothing is stored, or the new grant is revoked.
   * @returns `false` when the account is disabled or unknown: nothing has changed then
   */
  savePersonalAccessToken(token: PersonalAccessTokenRecord, grant: GrantRecord): Promise<boolean>;
  /** The token of a grant, live or not; `null` when the grant has none. */
  findPersonalAccessToken(grantId: string): Promise<PersonalAccessTokenRecord | null>;
  /** Records the use of its grant. Does nothing when it is gone. @param at epoch seconds */
  recordPersonalAccessTokenUse(grantId: string, at: number): Promise<void>;
}
