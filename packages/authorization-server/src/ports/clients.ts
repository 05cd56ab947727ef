/** What a store must do for clients that registered themselves or that an administrator made. */
import type { ClientMetadata } from '@portcullis/protocol';

/** A stored client. Configured clients live in the configuration and never here. Times in epoch seconds. */
export interface ClientRecord {
  readonly id: string;
  readonly origin: 'registered' | 'administered';
  readonly metadata: ClientMetadata;
  /** Base64url SHA-256 of the secret; `null` for public clients and those that prove a key. */
  readonly secretHash: string | null;
  readonly createdAt: number;
}

export interface ClientStore {
  /** Inserts a client. Its identifier is new: the caller made it from random bytes. */
  saveClient(client: ClientRecord): Promise<void>;
  findClient(id: string): Promise<ClientRecord | null>;
}
