/** The store capability `statusLists`: indexes in published token status lists. @see draft-ietf-oauth-status-list */

/** The holder of a status index: a grant, or a client that acts on its own behalf. */
export interface StatusIndexOwner {
  readonly kind: 'grant' | 'client';
  /** The identifier of the grant or client. */
  readonly id: string;
}

/** Everything that status lists publish as revoked. */
export interface RevokedAccess {
  /** How many indexes were ever reserved. */
  readonly allocatedCount: number;
  /** The `jti` of access tokens that were revoked individually. */
  readonly tokens: readonly string[];
  /** Indexes allocated to grants and clients that have ended. */
  readonly allocations: readonly (StatusIndexOwner & { readonly index: number })[];
}

/** Token status lists. @see draft-ietf-oauth-status-list */
export interface StatusListStore {
  /** Reserves a block of indexes for one process. @returns the first */
  reserveStatusIndexes(count: number): Promise<number>;
  /**
   * The index allocated to an owner, valid until at least `until`. The offered one is allocated when the owner has none or needs
   * another. A client created later under the same name has its own.
   */
  allocateStatusIndex(
    owner: StatusIndexOwner,
    offered: number,
    at: number,
    until: number,
    isAnother: boolean,
  ): Promise<number>;
  /**
   * Everything that ended at or after `since` and still matters after `now`: whatever `isAccessTokenLive`, the client or the
   * provider tokens would deny. Clients missing from the store count as ended: the caller excludes those it knows.
   */
  listRevokedAccess(since: number, now: number): Promise<RevokedAccess>;
  /** Identifiers of grants that were revoked, or whose provider tokens ended, at or after `since`. */
  listRevokedGrants(since: number): Promise<readonly string[]>;
}
