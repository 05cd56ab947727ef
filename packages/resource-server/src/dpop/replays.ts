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
export interface ReplayMemoryLimits {
  /** Of all keys together; 1,000,000 when left out. */
  readonly most?: number;
  /** Of one key; a tenth of all when left out. */
  readonly mostEach?: number;
}

/** Seconds between two times that old proofs are thrown away. */
const SWEPT_EVERY = 60;

/**
 * Remembers in this process, for at least the time that a proof can be good. When it is full, proofs are turned away
 * rather than forgotten: forgetting would let one pass twice. One client alone cannot fill it.
 */
export function createReplayMemory(clock: () => number, limits: ReplayMemoryLimits = {}): ReplayStore {
  const { most = 1_000_000, mostEach = Math.max(1, Math.floor(most / 10)) } = limits;
  const ofKeys = new Map<string, Map<string, number>>();
  let size = 0;
  let sweptAt = clock();

  function sweep(now: number): void {
    size = 0;
    sweptAt = now;
    for (const [key, proofs] of ofKeys) {
      for (const [proof, until] of proofs) if (until <= now) proofs.delete(proof);
      if (proofs.size === 0) ofKeys.delete(key);
      size += proofs.size;
    }
  }

  return {
    remember(proof, until, key) {
      const now = clock();
      if (now >= sweptAt + SWEPT_EVERY || (size >= most && now > sweptAt)) sweep(now);
      const proofs = ofKeys.get(key) ?? new Map<string, number>();
      if (proofs.has(proof)) return false;
      if (proofs.size >= mostEach)
        throw tooManyRequests('more proofs of one key than can be remembered', SWEPT_EVERY);
      if (size >= most) throw temporarilyUnavailable('more proofs than can be remembered', SWEPT_EVERY);
      ofKeys.set(key, proofs.set(proof, until));
      size += 1;
      return true;
    },
  };
}
