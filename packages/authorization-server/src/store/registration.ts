/** The store capability `registration`: dynamic client registration, initial access tokens, cached client metadata documents. */
import type { ClientMetadata } from '@portcullis/protocol';
import type { ClientRecord } from './clients.ts';
import type { RateLimitCharge } from './rate-limits.ts';

/** An initial access token: lets one client register. Times in epoch seconds. @see RFC 7591 §3 */
export interface InitialAccessTokenRecord {
  readonly id: string;
  /** Base64url SHA-256 of the token. */
  readonly hash: string;
  /** The administrator's note; may be empty. */
  readonly note: string;
  readonly createdAt: number;
  /** From then on it is invalid and may be swept. */
  readonly expiresAt: number;
  /** The client that registered with it, even if that client is gone; `null`: unused. */
  readonly clientId: string | null;
}

/** A cached Client ID Metadata Document: the last valid copy. Times in epoch seconds. */
export interface ClientMetadataDocumentRecord {
  /** The URL it was fetched from, which is the client identifier. */
  readonly url: string;
  readonly metadata: ClientMetadata;
  /** Base64url SHA-256 of the validated metadata: what a consent is bound to. */
  readonly digest: string;
  /** Validators for conditional requests; `null` when the host sent none. */
  readonly etag: string | null;
  readonly lastModified: string | null;
  readonly fetchedAt: number;
  /** Until then it is used without asking its host. */
  readonly freshUntil: number;
  /** When the client was last issued a token, as far as that was recorded; `null`: never. */
  readonly lastUsedAt: number | null;
  /** From then on it may be swept, unless the client has a live grant or is verified. */
  readonly expiresAt: number;
  /** When an administrator verified the client with this metadata; `null`: not. */
  readonly verifiedAt: number | null;
}

/** Clients that register themselves. */
interface DynamicRegistrationStore {
  /**
   * Inserts a new client if the rate limit allows it (`null`: no limit). Atomic: the limit is charged exactly when the client
   * is stored.
   * @param network a keyed hash of the network it registers from, by which unused clients are counted; `null` when unknown
   * @returns 0, or the seconds to wait: nothing has changed then
   */
  registerClient(
    client: ClientRecord,
    charge: RateLimitCharge | null,
    network: string | null,
  ): Promise<number>;
  /** The number of clients that can expire and were never used. */
  countUnusedClients(): Promise<number>;
  /** The same for each network that has any. Scans them all: call it when there are many. */
  countUnusedClientsByNetwork(): Promise<ReadonlyMap<string, number>>;
}

/** Initial access tokens. @see RFC 7591 §3 */
interface InitialAccessTokenStore {
  saveInitialAccessToken(token: InitialAccessTokenRecord): Promise<void>;
  /** The unexpired record of a token, used or not; `null` when there is none. */
  findInitialAccessToken(hash: string, now: number): Promise<InitialAccessTokenRecord | null>;
  /** A page of unexpired tokens, used or not, ordered by identifier, after the identifier `after`. */
  listInitialAccessTokens(
    after: string,
    limit: number,
    now: number,
  ): Promise<readonly InitialAccessTokenRecord[]>;
  /**
   * Inserts a new client and uses up the token. Atomic: of concurrent registrations with one token one is stored, and none
   * once it was revoked.
   * @returns `false` when the token is used, revoked, or expired at the client's `createdAt`: nothing has changed then
   */
  registerClientWithInitialAccessToken(client: ClientRecord, tokenHash: string): Promise<boolean>;
  /** Revokes an unused token. Atomic. `used` and `unknown`: nothing has changed. */
  revokeInitialAccessToken(id: string): Promise<'revoked' | 'used' | 'unknown'>;
}

/** Cached client metadata documents. */
export interface ClientMetadataDocumentStore {
  findClientMetadataDocument(url: string): Promise<ClientMetadataDocumentRecord | null>;
  /**
   * Replaces the cached copy. Of concurrent calls the copy that was fetched last remains, unless its `fetchedAt` is more than a minute
   * beyond that of the other: it is of a wrong clock. `lastUsedAt` is unchanged, and `expiresAt`
   * never moves backwards. With another digest the client is not verified any more; with the same, `verifiedAt` is unchanged.
   */
  saveClientMetadataDocument(copy: ClientMetadataDocumentRecord): Promise<void>;
  /** A page of cached copies, ordered by URL, after the URL `after`. */
  listClientMetadataDocuments(after: string, limit: number): Promise<readonly ClientMetadataDocumentRecord[]>;
  /**
   * Marks the client of a document as verified with exactly this metadata, or not any more (`null`). Atomic.
   * @returns `false` when there is no such document, or its digest is another: nothing has changed then
   */
  saveClientMetadataDocumentVerification(
    url: string,
    digest: string,
    verifiedAt: number | null,
  ): Promise<boolean>;
  /** Records that the client was issued a token, and its new expiry. Does nothing when it is gone. */
  recordClientMetadataDocumentUse(url: string, at: number, expiresAt: number): Promise<void>;
}

/** Store capability for clients that register themselves or publish a metadata document. @see RFC 7591 */
export interface RegistrationStore
  extends DynamicRegistrationStore,
    InitialAccessTokenStore,
    ClientMetadataDocumentStore {}
