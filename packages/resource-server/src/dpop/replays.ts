/** Where proofs are remembered, so that none is taken twice. */
import { unavailable } from '@portcullis/protocol/errors';

/** A port: several processes share one over a store of theirs, such as one row for each proof with an expiry. */
export interface ReplayStore {
  /**
   * Remembers a proof; `false` when it is remembered already. One fact: of two calls at once with the same proof, one
   * alone gets `true`.
   * @param proof a digest of fixed length
   * @param until epoch seconds after which the proof may be forgotten
   */
  remember(proof: string, until: number): boolean | Promise<boolean>;
}

/**
 * Remembers in this process, for at least the time that a proof can be good. When it is full, proofs are turned away
 * rather than forgotten: forgetting would let one pass twice.
 * @param most proofs at a time, of about 100 bytes each
 */
export function createReplayMemory(clock: () => number, most = 1_000_000): ReplayStore {
  let proofs = new Map<string, number>();
  let sweptAt = clock();
  return {
    remember(proof, until) {
      const now = clock();
      if (proofs.size >= most || now >= sweptAt + 60) {
        proofs = new Map([...proofs].filter(([, end]) => end > now));
        sweptAt = now;
      }
      if (proofs.has(proof)) return false;
      if (proofs.size >= most) throw unavailable('more proofs than can be remembered', 60);
      proofs.set(proof, until);
      return true;
    },
  };
}
