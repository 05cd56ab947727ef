/** Authorization requests of people who are not signed in: each keeps a transaction, so a network may open only so many. */
import { networkOf, tooMany } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { Peer } from '../routes.ts';
import { createSharedRate } from './shared-rate.ts';

/** Counts one request. Throws `OAuthError` 429 when there were too many from its network. */
export type CheckOpening = (peer: Peer) => Promise<void>;

export function createCheckOpening(
  configuration: Pick<Configuration, 'store' | 'limits' | 'clock'>,
): CheckOpening {
  const { limits } = configuration;
  if (limits === null) return async () => {};
  const openings = createSharedRate(configuration, 'authorizations', limits.authorizations);
  return async ({ address }) => {
    const network = address === undefined ? null : networkOf(address);
    const wait = network === null ? 0 : await openings.take(network);
    if (wait > 0) throw tooMany('too many authorization requests from one network', wait);
  };
}
