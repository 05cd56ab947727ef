/** What requests are proven with: a clock, names never used before, the newest nonces, and the client's own key. */
import { createDpopNonceCache, type DpopNonceCache } from '../dpop/nonces.ts';
import type { ClientSigningKey } from '../signing-key.ts';

/** One serves a client for its life, so that it keeps the nonces. */
export interface ClientContext {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** A text never returned before. */
  readonly createJti: () => string;
  readonly dpopNonces: DpopNonceCache;
  /** The signing key of a configured client; `null` when it has none. */
  readonly signingKeyFor: (clientId: string) => ClientSigningKey | null;
}

/** What a prover is made of, where it is not the platform's. */
export interface ClientContextOptions {
  /** Epoch milliseconds; the platform's clock by default. */
  readonly clock?: () => number;
  /** For a client that proves itself by `private_key_jwt`. */
  readonly signingKeyFor?: (clientId: string) => ClientSigningKey | null;
}

/** Makes a prover that knows no nonce yet. */
export function createClientContext({
  clock = Date.now,
  signingKeyFor: signingKeyOf = () => null,
}: ClientContextOptions = {}): ClientContext {
  return {
    clock,
    signingKeyFor: signingKeyOf,
    createJti: () => crypto.randomUUID(),
    dpopNonces: createDpopNonceCache(),
  };
}
