/** A client that this server knows, wherever it is written down. */
import type { ClientMetadata } from '@portcullis/protocol';

export interface ResolvedClient {
  readonly id: string;
  readonly origin: 'configured' | 'registered' | 'administered';
  readonly metadata: ClientMetadata;
  /** Base64url SHA-256 of the secret; `null` for clients without one. */
  readonly secretHash: string | null;
}
