/** What a store must do for copies of Client ID Metadata Documents: the last good one of each. */
import type { ClientMetadata } from '@portcullis/protocol';

/** The last good copy of a document, as it was judged. Times in epoch seconds. */
export interface ClientMetadataDocumentRecord {
  /** Where it was fetched: the identifier of the client. */
  readonly url: string;
  readonly metadata: ClientMetadata;
  /** Base64url SHA-256 of the metadata as judged: what a consent is bound to. */
  readonly digest: string;
  /** Validators, by which the host can answer that nothing has changed; `null` when it gave none. */
  readonly etag: string | null;
  readonly lastModified: string | null;
  readonly fetchedAt: number;
  /** Until then it is used without asking its host. */
  readonly freshUntil: number;
  /** When the client last got a token, as far as that was noted; `null` when it never did. */
  readonly lastUsedAt: number | null;
  /** From then on it may be swept, unless the client holds a live grant. */
  readonly expiresAt: number;
}

export interface ClientMetadataDocumentStore {
  findClientMetadataDocument(url: string): Promise<ClientMetadataDocumentRecord | null>;
  /**
   * Keeps a copy in the place of the one before. Of racing calls the copy that was fetched last stays. When it was last used
   * is not forgotten, and the end of its life is never moved nearer.
   */
  saveClientMetadataDocument(copy: ClientMetadataDocumentRecord): Promise<void>;
  /** Notes that the client got a token, and until when its copy may now rest. Nothing happens when it is gone. */
  recordClientMetadataDocumentUse(url: string, at: number, expiresAt: number): Promise<void>;
}
