/** Schema of the rate limit options. */
import type * as z from 'zod';
import { falseOr, lazy, object, optional, positiveNumber, required, wholeNumber } from '../option-schema.ts';

import { defaultRateLimits, type RateLimit, type RateLimitPolicies } from './policies.ts';

const KIND = 'an object with burst and perMinute, such as { "burst": 20, "perMinute": 2 }';

function rateLimit(name: keyof RateLimitPolicies, description: string): z.ZodType<RateLimit> {
  const schema = object<RateLimit>(
    {
      burst: required(wholeNumber(1, 1_000_000_000), 'how many at once'),
      perMinute: required(positiveNumber(), 'how many per minute after that'),
    },
    KIND,
  );
  const { burst, perMinute } = defaultRateLimits[name];
  return optional(schema, description, {
    default: defaultRateLimits[name],
    defaultText: `${burst} at once, ${perMinute} per minute`,
  });
}

export const rateLimitsSchema: () => z.ZodType<RateLimitPolicies | false> = lazy(() =>
  falseOr(
    object<RateLimitPolicies>({
      refreshes: rateLimit('refreshes', 'refreshes per grant'),
      clientTokens: rateLimit('clientTokens', 'client credentials tokens per client'),
      exchanges: rateLimit('exchanges', 'token exchanges per grant, and for ID-JAGs per client and account'),
      clientFailures: rateLimit(
        'clientFailures',
        'failed authentications per client and site (an IPv4 address, an IPv6 /48)',
      ),
      networkFailures: rateLimit('networkFailures', 'failed authentications per site'),
      registrations: rateLimit('registrations', 'registrations per site'),
      authorizations: rateLimit(
        'authorizations',
        'authorization requests per account, or per site without a session',
      ),
      federatedLogins: rateLimit(
        'federatedLogins',
        'federated logins per account, or per authorization request',
      ),
      signIns: rateLimit('signIns', 'sign-in attempts per account and network'),
    }),
  ),
);
