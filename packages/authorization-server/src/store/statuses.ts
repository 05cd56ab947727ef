/** What a store must do for the published status of tokens: each method is one fact, atomic and durable. */

/**
 * What tokens rest on, and in whose place they stand in the status lists: a grant, or a client that acts for itself. Times in
 * epoch seconds.
 */
export interface StatusIndexOwner {
  readonly kind: 'grant' | 'client';
  /** The identifier of the grant or client. */
  readonly id: string;
}

/** All that the status lists have to tell. */
export interface RevokedAccess {
  /** How many places were ever handed out. */
  readonly allocatedCount: number;
  /** Identifiers of grants that have ended, or whose bond with a third party has. */
  readonly grants: readonly string[];
  /** The `jti` of access tokens that were revoked alone. */
  readonly tokens: readonly string[];
  /** Places that were lent to grants and clients which have ended. */
  readonly allocations: readonly (StatusIndexOwner & { readonly index: number })[];
}

export interface StatusListStore {
  /** Sets places aside for one process, that nobody else will get; answers the first of them. */
  reserveStatusIndexes(count: number): Promise<number>;
  /**
   * The place that a holder was lent, for so long that it serves `until`; it gets the offered one when it has none, or when it needs
   * another. A client that is newer than what its name was lent gets a place of its own.
   */
  allocateStatusIndex(
    holder: StatusIndexOwner,
    offered: number,
    at: number,
    until: number,
    isAnother: boolean,
  ): Promise<number>;
  /**
   * What ended in or after the second `since`, and still matters after `now`: whatever `isAccessTokenLive`, the client or the bond
   * of a token would deny. Clients that are in no store are told of as ended: who knows them leaves them out.
   */
  listRevokedAccess(since: number, now: number): Promise<RevokedAccess>;
}
