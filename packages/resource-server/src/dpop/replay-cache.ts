/** Where proofs are remembered, so that none is taken twice. */
import { temporarilyUnavailable, tooManyRequests } from '@portcullis/protocol/protected-resource';

/** A port: several processes share one over a store of theirs, such as one row for each proof with an expiry. */
export interface ReplayStore {
  /**
   * Remembers a proof; `false` when it is remembered already. One fact: of two calls at once with the same proof, one
   * alone gets `true`.
   * @param proof a digest of fixed length, of the key and the identifier of the proof
   * @param until epoch seconds after which the proof may be forgotten
   * @param key the thumbprint of the key that made it, for a store that gives no client all of its room
   */
  remember(proof: string, until: number, key: string): boolean | Promise<boolean>;
}

/** How many proofs are remembered, of about 100 bytes each. */
export interface ReplayCacheLimits {
  /** Of all keys together; 1,000,000 when left out. */
  readonly maxProofs?: number;
  /** Of one key; a tenth of all when left out. */
  readonly maxProofsPerKey?: number;
}

/** Seconds between two times that old proofs are thrown away. */
const SWEEP_INTERVAL = 60;

/**
 * Remembers in this process, for at least the time that a proof can be good. When it is full, proofs are turned away
 * rather than forgotten: forgetting would let one pass twice. One client alone cannot fill it.
 */
export function createReplayCache(clock: () => number, limits: ReplayCacheLimits = {}): ReplayStore {
  const { maxProofs: most = 1_000_000, maxProofsPerKey: mostEach = Math.max(1, Math.floor(most / 10)) } =
    limits;
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
      if (now >= sweptAt + SWEEP_INTERVAL || (size >= most && now > sweptAt)) sweep(now);
      const proofs = proofsByKey.get(key) ?? new Map<string, number>();
      if (proofs.has(proof)) return false;
      if (proofs.size >= mostEach)
        throw tooManyRequests('more proofs of one key than can be remembered', SWEEP_INTERVAL);
      if (size >= most) throw temporarilyUnavailable('more proofs than can be remembered', SWEEP_INTERVAL);
      proofsByKey.set(key, proofs.set(proof, until));
      size += 1;
      return true;
    },
  };
}
