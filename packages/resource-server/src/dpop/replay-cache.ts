/** Replay detection for DPoP proofs: the port, and its implementation in memory. */
import { SKEW_TOLERANCE, temporarilyUnavailable, tooManyRequests } from '@portcullis/protocol';

/** Stores used proofs. Processes can share one on a database, for example one row with an expiry per proof. */
export interface ReplayStore {
  /**
   * Stores a proof; `false` if it is stored already. Atomic: of two concurrent calls with the same proof, exactly one
   * gets `true`.
   * @param proof a digest of fixed length, of key thumbprint and `jti`
   * @param until epoch seconds after which the proof may be deleted
   * @param key the thumbprint of the key, for stores with a quota per client
   */
  remember(proof: string, until: number, key: string): boolean | Promise<boolean>;
}

/** Limits of the in-memory store, of about 100 bytes per proof. */
export interface ReplayCacheLimits {
  /** Proofs of all keys; 1,000,000 by default. */
  readonly maxProofs?: number;
  /** Proofs of one key; a tenth of all by default. */
  readonly maxProofsPerKey?: number;
}

/** Seconds between deletions of expired proofs. */
const SWEEP_INTERVAL = 60;

/**
 * Stores proofs in this process, for at least as long as they are valid. When it is full, proofs are rejected rather
 * than forgotten, which would allow a replay. One client alone cannot fill it.
 */
export function createReplayCache(clock: () => number, limits: ReplayCacheLimits = {}): ReplayStore {
  const { maxProofs = 1_000_000, maxProofsPerKey = Math.max(1, Math.floor(maxProofs / 10)) } = limits;
  const proofsByKey = new Map<string, Map<string, number>>();
  let size = 0;
  let sweptAt = clock();

  function sweep(now: number): void {
    size = 0;
    sweptAt = now;
    for (const [key, proofs] of proofsByKey) {
      for (const [proof, until] of proofs) if (until <= now) proofs.delete(proof);
      if (proofs.size === 0) proofsByKey.delete(key);
      size += proofs.size;
    }
  }

  return {
    remember(proof, until, key) {
      const now = clock();
      const isDue = now >= sweptAt + SWEEP_INTERVAL || sweptAt > now + SKEW_TOLERANCE;
      if (isDue || (size >= maxProofs && now > sweptAt)) sweep(now);
      const proofs = proofsByKey.get(key) ?? new Map<string, number>();
      if (proofs.has(proof)) return false;
      if (proofs.size >= maxProofsPerKey)
        throw tooManyRequests('more proofs of one key than can be remembered', SWEEP_INTERVAL);
      if (size >= maxProofs)
        throw temporarilyUnavailable('more proofs than can be remembered', SWEEP_INTERVAL);
      proofsByKey.set(key, proofs.set(proof, until));
      size += 1;
      return true;
    },
  };
}
