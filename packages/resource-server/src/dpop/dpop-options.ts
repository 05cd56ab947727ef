/** What an operator says of tokens that are bound to a key of the client (DPoP). */
import type { JwsAlgorithm } from '../verifiers/public-keys.ts';
import type { ReplayStore } from './replay-cache.ts';

/** @see RFC 9449 */
export interface DpopOptions {
  /** Whether bound tokens alone are taken; when left out or `false`, plain ones are taken too. */
  readonly required?: boolean;
  /** Signature algorithms of proofs; ES256, EdDSA, RS256 and PS256 when left out. */
  readonly algorithms?: readonly JwsAlgorithm[];
  /** Seconds by which a proof's time may be off, either way; 300 when left out. */
  readonly window?: number;
  /** Remembers proofs, so that none is taken twice; in the memory of this process when left out. */
  readonly replays?: ReplayStore;
  /**
   * Demands nonces of this guard in proofs, so that none can be made in advance. Processes that share the secret, of 32
   * bytes or more, take each other's.
   */
  readonly nonces?: {
    readonly secret: Uint8Array;
    /** Seconds for which a nonce is good, at least; 150 when left out. */
    readonly lifetime?: number;
  };
}
