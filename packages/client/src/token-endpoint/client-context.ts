/** What requests of a client are authenticated and proven with: clock, DPoP proofs and signing keys. */
import { type ClientProofs, createClientProofs } from '../dpop.ts';
import type { ClientSigningKey } from '../signing-key.ts';

/** Use one for the lifetime of a client: it caches the DPoP nonces. */
export interface ClientContext {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Creates DPoP proofs with the latest nonces. @see RFC 9449 §8 */
  readonly dpopProofs: ClientProofs;
  /** The signing key of a configured client at an issuer; `null` when it has none. */
  readonly signingKeyFor: (clientId: string, issuer: string) => ClientSigningKey | null;
}

/** Replaces parts of a context. */
export interface ClientContextOptions {
  /** Epoch milliseconds; the platform's clock by default. */
  readonly clock?: () => number;
  /** For a client that authenticates with `private_key_jwt`. */
  readonly signingKeyFor?: (clientId: string, issuer: string) => ClientSigningKey | null;
}

/** Creates a context without any DPoP nonce. @see RFC 9449 §8 */
export function createClientContext({
  clock = Date.now,
  signingKeyFor = () => null,
}: ClientContextOptions = {}): ClientContext {
  return { clock, signingKeyFor, dpopProofs: createClientProofs(clock) };
}
