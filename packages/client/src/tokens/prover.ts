/** What requests are proven with: a clock, names never used before, the newest nonces, and the client's own key. */
import { createNonces, type Nonces } from '../dpop/nonces.ts';
import type { SigningKey } from '../keys/signing-key.ts';

/** One serves a client for its life, so that it keeps the nonces. */
export interface Prover {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** A text never returned before. */
  readonly identifier: () => string;
  readonly nonces: Nonces;
  /** The signing key of a configured client; `null` when it has none. */
  readonly signingKeyOf: (clientId: string) => SigningKey | null;
}

/** What a prover is made of, where it is not the platform's. */
export interface ProverOptions {
  /** Epoch milliseconds; the platform's clock by default. */
  readonly clock?: () => number;
  /** For a client that proves itself by `private_key_jwt`. */
  readonly signingKeyOf?: (clientId: string) => SigningKey | null;
}

/** Makes a prover that knows no nonce yet. */
export function createProver({ clock = Date.now, signingKeyOf = () => null }: ProverOptions = {}): Prover {
  return { clock, signingKeyOf, identifier: () => crypto.randomUUID(), nonces: createNonces() };
}
