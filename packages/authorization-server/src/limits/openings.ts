/** Authorization requests of people who are not signed in: each keeps a transaction, so a network may open only so many. */
import { networkOf, tooMany } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { Peer } from '../routes.ts';
import { createBuckets } from './buckets.ts';

/** Counts one request. Throws `OAuthError` 429 when there were too many from its network. */
export type CheckOpening = (peer: Peer) => void;

export function createCheckOpening({ limits, clock }: Pick<Configuration, 'limits' | 'clock'>): CheckOpening {
  if (limits === null) return () => {};
  const openings = createBuckets(limits.authorizations, clock);
  return ({ address }) => {
    const network = address === undefined ? null : networkOf(address);
    const wait = network === null ? 0 : openings.take(network);
    if (wait > 0) throw tooMany('too many authorization requests from one network', wait);
  };
}
