/** A client that stands in the configuration, once it was judged. */
import type { ClientMetadata } from '@portcullis/protocol';

export interface ConfiguredClient {
  readonly id: string;
  readonly metadata: ClientMetadata;
  readonly secretHash: string | null;
  /** Whether its secret is so short that it might be guessed, one try after the other. */
  readonly hasGuessableSecret: boolean;
}
