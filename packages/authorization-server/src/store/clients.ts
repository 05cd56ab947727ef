/** What a store must do for clients that registered themselves or that an administrator made. */
import type { ClientMetadata } from '@portcullis/protocol';
import type { RateLimitCharge } from './rate-limits.ts';

/** A stored client. Configured clients live in the configuration and never here. Times in epoch seconds. */
export interface ClientRecord {
  readonly id: string;
  readonly origin: 'registered' | 'administered';
  readonly metadata: ClientMetadata;
  /** Base64url SHA-256 of the secret; `null` for public clients and those that prove a key. */
  readonly secretHash: string | null;
  /** Base64url SHA-256 of the token by which the client manages its registration; `null` when it cannot. */
  readonly managementHash: string | null;
  readonly createdAt: number;
  /** When it last got a token, as far as that was noted; `null` when it never did. */
  readonly lastUsedAt: number | null;
  /** Since when an administrator lets nobody use it; `null`: it may be used. */
  readonly disabledAt: number | null;
  /** From then on it may be swept, unless it holds a live grant: one that was never used an hour later; `null`: never. */
  readonly expiresAt: number | null;
}

/** What may change in a registration. */
export type ClientUpdate = Pick<ClientRecord, 'metadata' | 'secretHash'>;

export interface ClientStore {
  /** Inserts a client. @returns `false` when there is one with this identifier already: nothing has changed then. */
  saveClient(client: ClientRecord): Promise<boolean>;
  /**
   * Inserts a client that nobody knows yet, if its turn can be taken (`null`: it needs none). One fact: without the turn there
   * is no client, and without the client no turn was taken.
   * @param network from where it registers, by which it is counted until its first use: says nothing about whose it is; `null`
   *   when nobody knows
   * @returns 0, or the seconds after which there is a turn: nothing has changed then
   */
  registerClient(client: ClientRecord, turn: RateLimitCharge | null, network: string | null): Promise<number>;
  findClient(id: string): Promise<ClientRecord | null>;
  /** Clients in the order of their identifiers, those behind `after` only. */
  listClients(after: string, limit: number): Promise<readonly ClientRecord[]>;
  /** How many clients that may expire have never been used. */
  countUnusedClients(): Promise<number>;
  /** The same of each network that has any. Goes through all of them: for when they are many. */
  countUnusedClientsByNetwork(): Promise<ReadonlyMap<string, number>>;
  /** Replaces what a client registered. @returns `false` when it is gone. */
  updateClient(id: string, change: ClientUpdate): Promise<boolean>;
  /** Notes that a client got a token, and until when it may now rest. Nothing happens when it is gone. */
  recordClientUse(id: string, at: number, expiresAt: number | null): Promise<void>;
  /**
   * Disables a client. One fact: its grants are revoked, codes and open transactions go, for good. Disabling twice changes
   * nothing. @returns `false` when there is none
   */
  disableClient(id: string, at: number): Promise<boolean>;
  /** @returns `false` when there is none */
  enableClient(id: string): Promise<boolean>;
  /**
   * Removes a client with everything that was given to it: grants are revoked, codes and open transactions go. One fact, so
   * that a later client of the same identifier inherits nothing. @returns `false` when there is none.
   */
  removeClient(id: string, at: number): Promise<boolean>;
}
