/** How often clients may do what: refresh, get tokens of their own, exchange, register. */

import type { ConnectionInfo } from '@portcullis/http';
import { sitePrefixOf, tooManyRequests } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { hashSecret } from '../secrets.ts';
import type { RateLimitCharge } from '../store/index.ts';
import type { RateLimit } from './limiter.ts';
import type { RateLimitPolicies } from './policies.ts';
import { createRateLimiter, type RateLimiter } from './shared-rate.ts';
import { turnLimitOf } from './turn-limit.ts';

export interface RateLimits {
  /** @throws OAuthError 429 */
  chargeRefresh(grantId: string): Promise<void> | undefined;
  /** @throws OAuthError 429 */
  chargeClientToken(clientId: string): Promise<void> | undefined;
  /** @throws OAuthError 429 */
  chargeTokenExchange(grantId: string): Promise<void> | undefined;
  /** The turn that a registration takes, of the site that it comes from; `null` when nobody counts it. */
  registrationCharge(connection: ConnectionInfo): RateLimitCharge | null;
}

export function createRateLimits(context: ServerContext): RateLimits {
  const {
    options: { rateLimits: limits },
  } = context;
  return limits === null ? unlimited : createLimitsOf(context, limits);
}

const unlimited: RateLimits = {
  chargeRefresh: () => undefined,
  chargeClientToken: () => undefined,
  chargeTokenExchange: () => undefined,
  registrationCharge: () => null,
};

function createLimitsOf(context: ServerContext, rules: RateLimitPolicies): RateLimits {
  const refreshes = createRateLimiter(context, 'refreshes', rules.refreshes);
  const clientTokens = createRateLimiter(context, 'tokens of client', rules.clientTokens);
  const exchanges = createRateLimiter(context, 'exchanges', rules.exchanges);
  return {
    chargeRefresh: (grantId) => check(refreshes, grantId, 'refreshes of one grant'),
    chargeClientToken: (clientId) => check(clientTokens, clientId, 'tokens of one client'),
    chargeTokenExchange: (grantId) => check(exchanges, grantId, 'token exchanges for one grant'),
    registrationCharge: createRegistrationTurn(context, rules.registrations),
  };
}

/** The usual answer is at hand, and costs no promise. */
function check(rate: RateLimiter, key: string, of: string): Promise<void> | undefined {
  const wait = rate.take(key);
  if (wait === 0) return undefined;
  const refuse = (seconds: number) => {
    if (seconds > 0) throw tooManyRequests(`too many ${of}: ${key}`, seconds);
  };
  return typeof wait === 'number' ? void refuse(wait) : wait.then(refuse);
}

/** Counted by site: what a registration keeps in the store, it keeps there for whoever sent it, from whichever network of theirs. */
function createRegistrationTurn({ clock }: ServerContext, rate: RateLimit): RateLimits['registrationCharge'] {
  const limit = turnLimitOf(rate);
  return ({ address }) => {
    const site = address === undefined ? null : sitePrefixOf(address);
    return site === null ? null : { key: hashSecret(`registration ${site}`), limit, now: clock() };
  };
}
