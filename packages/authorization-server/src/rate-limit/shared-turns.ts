/** Attempts to sign in, counted over all processes: what each process counts by itself is stricter, but forgets. */

import { networkPrefixOf } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { hashSecret } from '../secrets.ts';
import { turnLimitOf } from './turn-limit.ts';

export interface SharedTurns {
  /**
   * Takes a turn at an account from an address. By both together, so that nobody elsewhere can keep an owner out.
   * @returns 0, or the seconds to wait
   */
  take(account: string, address: string | undefined): Promise<number>;
}

/** @param purpose says in the store what the turns are of */
export function createSharedTurns(
  { store, clock, options: { rateLimits: limits } }: Pick<ServerContext, 'store' | 'clock' | 'options'>,
  purpose: string,
): SharedTurns {
  if (limits === null) return { take: async () => 0 };
  const limit = turnLimitOf(limits.signIns);
  return {
    take: (account, address) => {
      const network = address === undefined ? '' : (networkPrefixOf(address) ?? '');
      return store.chargeRateLimit(hashSecret(`${purpose} ${network} ${account}`), limit, clock());
    },
  };
}
