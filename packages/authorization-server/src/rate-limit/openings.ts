/** Authorization requests: each keeps something in the store, so a person, or the network of whoever is not signed in, may make only so many. */

import type { ConnectionInfo } from '@portcullis/http';
import { networkPrefixOf, tooManyRequests } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createRateLimiter } from './shared-rate.ts';

/**
 * Counts one request, of the account that is signed in or, without one, of the network that it comes from.
 * Throws `OAuthError` 429 when there were too many.
 */
export type ChargeAuthorizationRequest = (connection: ConnectionInfo, accountId?: string) => Promise<void>;

export function createChargeAuthorizationRequest(
  context: Pick<ServerContext, 'store' | 'clock' | 'options'>,
): ChargeAuthorizationRequest {
  const {
    options: { rateLimits: limits },
  } = context;
  if (limits === null) return async () => {};
  const openings = createRateLimiter(context, 'authorizations', limits.authorizations);
  return async ({ address }, accountId) => {
    // No name of an account is an address.
    const key = accountId ?? (address === undefined ? null : networkPrefixOf(address));
    const wait = key === null ? 0 : await openings.take(key);
    const of = accountId === undefined ? 'from one network' : 'of one account';
    if (wait > 0) throw tooManyRequests(`too many authorization requests ${of}`, wait);
  };
}
