/** Clients in the core store: those that registered and those that an administrator added. */
import type { ClientMetadata } from '@portcullis/protocol';

/** A rotated client secret, which is accepted beside the current one for a while. */
export interface PreviousSecret {
  /** Base64url SHA-256 of it. */
  readonly hash: string;
  /** Epoch seconds; it is refused from then on. */
  readonly expiresAt: number;
}

/** A stored client. Pre-registered clients live in the configuration, never here. Times in epoch seconds. */
export interface ClientRecord {
  /** The `client_id`. @see RFC 7591 §3.2.1 */
  readonly id: string;
  /** Whether it registered dynamically or an administrator added it. */
  readonly origin: 'registered' | 'administered';
  /** Its client metadata. @see RFC 7591 §2 */
  readonly metadata: ClientMetadata;
  /** Base64url SHA-256 of the client secret; `null` for public clients and those that authenticate with a key. */
  readonly secretHash: string | null;
  /** The secret before the current one, even an expired one; `null`: none. */
  readonly previousSecret: PreviousSecret | null;
  /** Base64url SHA-256 of the registration access token (RFC 7592); `null` when the client cannot manage its registration. */
  readonly managementHash: string | null;
  readonly createdAt: number;
  /** When it was last issued a token, as far as that was recorded; `null`: never. */
  readonly lastUsedAt: number | null;
  /** When an administrator disabled it; `null`: it is enabled. */
  readonly disabledAt: number | null;
  /** When an administrator enabled it again; access tokens from before stay revoked. `null`: never. */
  readonly enabledAt: number | null;
  /** When an administrator verified it with this metadata; `null`: not. */
  readonly verifiedAt: number | null;
  /** From then on it may be swept, unless it has a live grant; one that was never used, an hour later; `null`: never. */
  readonly expiresAt: number | null;
}

/** An update of a registration. Without `secretHash` the secrets stay; with it, the previous secret ends. */
export type ClientUpdate = Pick<ClientRecord, 'metadata'> & Partial<Pick<ClientRecord, 'secretHash'>>;

/** Registered and administered clients, and replay detection of client assertions. @see RFC 7591 §2, RFC 7523 §3 */
export interface ClientStore {
  /** Inserts a client. @returns `false` when the identifier is taken: nothing has changed then */
  saveClient(client: ClientRecord): Promise<boolean>;
  /** The client with this identifier, enabled or disabled; `null` when there is none. */
  findClient(id: string): Promise<ClientRecord | null>;
  /** A page of clients, ordered by identifier, after the identifier `after`. */
  listClients(after: string, limit: number): Promise<readonly ClientRecord[]>;
  /**
   * Replaces the metadata of a client, and its secret if one is given. It is not verified any more.
   * @returns `false` when there is no such client @see RFC 7592 §2.2
   */
  updateClient(id: string, update: ClientUpdate): Promise<boolean>;
  /**
   * Marks a client as verified with exactly this metadata, or not any more (`null`). Atomic: of a concurrent `updateClient` the new
   * metadata is never verified. @returns `false` when there is no such client, or its metadata has changed: nothing has changed then
   */
  saveClientVerification(id: string, metadata: ClientMetadata, verifiedAt: number | null): Promise<boolean>;
  /**
   * Replaces the secret of a client; the replaced one becomes the previous secret. Atomic: of concurrent rotations each replaces
   * the secret of another.
   * @param previousUntil epoch seconds until which the replaced secret is accepted
   * @returns `false` when there is no such client, or it has no secret: nothing has changed then
   */
  rotateClientSecret(id: string, secretHash: string, previousUntil: number): Promise<boolean>;
  /** Records that a client was issued a token, and its new expiry. Does nothing when it is gone. */
  recordClientUse(id: string, at: number, expiresAt: number | null): Promise<void>;
  /**
   * Disables a client. Atomic: its grants are revoked, its codes, open transactions and device authorizations deleted.
   * A disabled one is disabled as of later, at least by a second, so that no two disablings share a time.
   * @returns `false` when there is no such client
   */
  disableClient(id: string, at: number): Promise<boolean>;
  /**
   * Enables a disabled client; what was revoked stays revoked. In `enabledAt` it is later than disabled, unless it was disabled more than
   * a minute after `at`: by a wrong clock, whose tokens are invalid until the time that they name as issued. Idempotent.
   * @returns `false` when there is no such client
   */
  enableClient(id: string, at: number): Promise<boolean>;
  /**
   * Removes a client. Atomic: its grants are revoked, its codes, open transactions and device authorizations deleted, so that a later
   * client with the same identifier inherits nothing. @returns `false` when there is no such client
   */
  removeClient(id: string, at: number): Promise<boolean>;
  /**
   * Marks a client assertion or a DPoP proof as used: replay detection. Atomic: of concurrent calls, in any number of processes, one returns
   * `true`. @see RFC 7523 §3, item 7, RFC 9449 §11.1
   * @param hash what makes it unique, hashed
   * @param expiresAt epoch seconds after which the assertion has expired anyway and may be swept. Not always whole: it comes from a
   * JWT, whose times may have fractions. @see RFC 7519 §2, `NumericDate`
   */
  consumeClientAssertion(hash: string, expiresAt: number): Promise<boolean>;
}
