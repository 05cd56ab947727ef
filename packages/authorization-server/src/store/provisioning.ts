/** The store capability `provisioning`: users and groups that identity providers provision by SCIM, and the tokens of their connections. */

/** A user or group of one provisioning connection. Times in epoch seconds. */
export interface ProvisionedResource {
  /** Starts with `scim_`, ordered by creation. */
  readonly id: string;
  /** The identifier of the identity provider in the configuration: its connection reads and writes no others. */
  readonly identityProvider: string;
  readonly kind: 'User' | 'Group';
  /** The `userName` of a user, the `displayName` of a group. */
  readonly name: string;
  /** The other attributes, without members. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** `false`: a user whose account is disabled, and who cannot sign in. */
  readonly isActive: boolean;
  /** The account of a user; `null` until the first sign-in. */
  readonly accountId: string | null;
  /**
   * Whether deactivation disabled the account, of this user or of another one of the account, so that reactivation enables it: the last
   * of them. An operator's decision stays.
   */
  readonly disabledAccount: boolean;
  /** Incremented by each change. */
  readonly version: number;
  readonly createdAt: number;
  readonly modifiedAt: number;
}

/** What a resource is found by. Values are compared as they are, so those that ignore case are stored folded. */
export interface ProvisionedKey {
  readonly attribute: 'userName' | 'externalId' | 'emails' | 'displayName' | 'members';
  readonly value: string;
}

/** Which resources of a connection to list. */
export type ProvisionedFilter =
  | { readonly by: 'all' }
  | { readonly by: 'key'; readonly key: ProvisionedKey }
  | { readonly by: 'active'; readonly isActive: boolean }
  /** Changed at that time or later. */
  | { readonly by: 'change'; readonly since: number };

/** Changes of a group's members, applied in this order. */
export interface MemberChanges {
  /** Whether the members before are removed. */
  readonly clear: boolean;
  readonly remove: readonly string[];
  /** Identifiers of users of the same connection. */
  readonly add: readonly string[];
}

/** Why nothing was saved: another version is stored, a key is taken, or a member is no user of the connection. */
export type ProvisioningConflict =
  | { readonly conflict: 'version' | 'uniqueness' }
  | { readonly conflict: 'member'; readonly member: string };

/** A change of a resource that is stored with `version` one lower. */
export interface ProvisioningChange {
  readonly resource: ProvisionedResource;
  /** The keys, which replace those before; members are no keys here. */
  readonly keys: readonly ProvisionedKey[];
  readonly members: MemberChanges;
  /** What happens to the account of a user. */
  readonly account: 'disable' | 'enable' | 'none';
}

/** A bearer token of a provisioning connection. Times in epoch seconds. */
export interface ProvisioningTokenRecord {
  readonly id: string;
  /** Base64url SHA-256. */
  readonly hash: string;
  readonly identityProvider: string;
  readonly note: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** A group that a user is in, or a user in a group. */
export interface ProvisionedMembership {
  readonly id: string;
  readonly name: string;
}

/** Users, groups and tokens of provisioning connections. */
export interface ProvisioningStore {
  saveProvisioningToken(token: ProvisioningTokenRecord): Promise<void>;
  /** The token, unless it has expired. */
  findProvisioningToken(hash: string, now: number): Promise<ProvisioningTokenRecord | null>;
  /** All that have not expired, ordered by creation; there are few. */
  listProvisioningTokens(now: number): Promise<readonly ProvisioningTokenRecord[]>;
  /** @returns `false` for an unknown one */
  revokeProvisioningToken(id: string): Promise<boolean>;

  /**
   * Creates a resource. Atomic: of concurrent calls with the same `userName`, or user with the same `externalId`, one creates it. An
   * account of another user of the connection is left out.
   */
  createProvisioned(creation: ProvisioningChange): Promise<ProvisionedResource | ProvisioningConflict>;
  /**
   * Changes a resource whose stored version precedes that of the change. Atomic, with what happens to the account: disabling it ends
   * what `disableAccount` ends; it is enabled only where no other user of the account is deactivated.
   * @returns `disabledAccount` as it is now
   */
  changeProvisioned(change: ProvisioningChange): Promise<ProvisionedResource | ProvisioningConflict>;
  /**
   * Removes a resource in this version, with its memberships and, if `removeAccount`, its account, as `removeAccount` does, unless another
   * user of the account has `disabledAccount`. Atomic.
   * @returns `false` when another version is stored, or none
   */
  removeProvisioned(resource: ProvisionedResource, removeAccount: boolean, at: number): Promise<boolean>;
  findProvisioned(
    identityProvider: string,
    kind: ProvisionedResource['kind'],
    id: string,
  ): Promise<ProvisionedResource | null>;
  /** A page of resources ordered by identifier. @param page those after the identifier `after`, without the first `skip` */
  listProvisioned(
    identityProvider: string,
    kind: ProvisionedResource['kind'],
    filter: ProvisionedFilter,
    page: { readonly after: string; readonly skip: number; readonly limit: number },
  ): Promise<readonly ProvisionedResource[]>;
  countProvisioned(
    identityProvider: string,
    kind: ProvisionedResource['kind'],
    filter: ProvisionedFilter,
  ): Promise<number>;
  /** The users in a group, ordered by identifier, at most `limit`. */
  listProvisionedMembers(groupId: string, limit: number): Promise<readonly ProvisionedMembership[]>;
  /** The groups of a user, ordered by identifier. */
  listProvisionedGroups(user: ProvisionedResource): Promise<readonly ProvisionedMembership[]>;
  /**
   * Gives an active user the account that signs in, as a new version. Atomic: a concurrent deactivation either precedes it, or finds
   * the account.
   * @returns `false` when the user is inactive, removed, or has another account, or the account has another user of the connection
   */
  linkProvisionedAccount(id: string, accountId: string): Promise<boolean>;
}
