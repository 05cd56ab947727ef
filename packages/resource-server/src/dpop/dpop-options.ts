/** Options of DPoP, sender-constrained tokens bound to a key of the client (RFC 9449). */
import type { JwsAlgorithm } from '@portcullis/protocol';
import type { ReplayStore } from './replay-cache.ts';

/** Options of DPoP. @see RFC 9449 */
export interface DpopOptions {
  /** Whether only bound tokens are accepted; bearer tokens are accepted too by default. */
  readonly required?: boolean;
  /** Signature algorithms of proofs; ES256, EdDSA, RS256 and PS256 by default. */
  readonly algorithms?: readonly JwsAlgorithm[];
  /** Seconds by which the time of a proof may differ, either way; 300 by default. */
  readonly window?: number;
  /** Stores used proofs to detect replays; in the memory of this process by default. */
  readonly replays?: ReplayStore;
  /**
   * Issues nonces for proofs, and requires them by default, so that proofs cannot be made in advance. Processes that
   * share the secret of 32 bytes or more accept each other's nonces. @see RFC 9449 §9
   */
  readonly nonces?: {
    readonly secret: Uint8Array;
    /** Secrets whose nonces are accepted too, while processes are given another secret one by one. */
    readonly previousSecrets?: readonly Uint8Array[];
    /** Seconds for which a nonce is valid at least; 150 by default. */
    readonly lifetime?: number;
    /** Whether a proof without a nonce is rejected; `true` by default. An outdated nonce always is. */
    readonly required?: boolean;
  };
}
