/** Clients in the core store: those that registered and those that an administrator added. */
import type { ClientMetadata } from '@portcullis/protocol';

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
  /** Base64url SHA-256 of the registration access token (RFC 7592); `null` when the client cannot manage its registration. */
  readonly managementHash: string | null;
  /** Epoch seconds. */
  readonly createdAt: number;
  /** When it last got a token, as far as that was recorded; `null`: never. */
  readonly lastUsedAt: number | null;
  /** When an administrator disabled it; `null`: it is enabled. */
  readonly disabledAt: number | null;
  /** From then on it may be swept, unless it holds a live grant; one that was never used, an hour later; `null`: never. */
  readonly expiresAt: number | null;
}

/** The members of a registration that can change. */
export type ClientUpdate = Pick<ClientRecord, 'metadata' | 'secretHash'>;

/** Registered and administered clients, and replay detection of client assertions. @see RFC 7591 §2, RFC 7523 §3 */
export interface ClientStore {
  /** Inserts a client. @returns `false` when the identifier is taken: nothing has changed then */
  saveClient(client: ClientRecord): Promise<boolean>;
  /** The client with this identifier, enabled or disabled; `null` when there is none. */
  findClient(id: string): Promise<ClientRecord | null>;
  /** A page of clients, ordered by identifier, after the identifier `after`. */
  listClients(after: string, limit: number): Promise<readonly ClientRecord[]>;
  /** Replaces metadata and secret hash of a client. @returns `false` when there is no such client @see RFC 7592 §2.2 */
  updateClient(id: string, update: ClientUpdate): Promise<boolean>;
  /** Records that a client got a token, and its new expiry. Does nothing when it is gone. */
  recordClientUse(id: string, at: number, expiresAt: number | null): Promise<void>;
  /**
   * Disables a client. Atomic: its grants are revoked, its codes and open transactions deleted. Idempotent.
   * @returns `false` when there is no such client
   */
  disableClient(id: string, at: number): Promise<boolean>;
  /** Enables a disabled client; its revoked grants stay revoked. @returns `false` when there is no such client */
  enableClient(id: string): Promise<boolean>;
  /**
   * Removes a client. Atomic: its grants are revoked, its codes and open transactions deleted, so that a later client with the
   * same identifier inherits nothing. @returns `false` when there is no such client
   */
  removeClient(id: string, at: number): Promise<boolean>;
  /**
   * Marks a client assertion as used: replay detection. Atomic: of concurrent calls, in any number of processes, one returns
   * `true`. @see RFC 7523 §3, item 7
   * @param hash base64url SHA-256 of what makes the assertion unique
   * @param expiresAt epoch seconds after which the assertion has expired anyway and may be swept
   */
  consumeClientAssertion(hash: string, expiresAt: number): Promise<boolean>;
}
