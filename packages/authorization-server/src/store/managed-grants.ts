/** The store capability `managedGrants`: grants created by assertions of organizations' identity providers. */
import type { GrantRecord } from './grants.ts';

/** Accounts of asserted users, and their grants. */
export interface ManagedGrantStore {
  /** The account that was linked to an asserted subject; `null`: none. */
  findAssertedIdentity(issuer: string, subject: string): Promise<string | null>;
  /**
   * Links an asserted subject to an account, for good. Atomic. @returns `false` when the subject means another account, the
   * account is linked to another subject of that issuer, or it is disabled or gone: nothing has changed then
   */
  linkAssertedIdentity(issuer: string, subject: string, accountId: string): Promise<boolean>;
  /**
   * Saves a grant with `managedBy`, or extends the live one of the same account, client, issuer, scopes and resources. Atomic.
   * @returns the identifier of the grant; `null` when the account is disabled or gone: nothing has changed then
   */
  saveManagedGrant(grant: GrantRecord): Promise<string | null>;
}
