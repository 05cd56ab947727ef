/** The option `rateLimits`. */
import * as z from 'zod';
import { lazy, members, option, optionMeta, positiveNumber, wholeNumber } from '../option-schema/fields.ts';
import { defaultRateLimits, type RateLimitPolicies } from './policies.ts';

const KIND = 'an object with burst and perMinute, such as { "burst": 20, "perMinute": 2 }';

const rateLimit = lazy(() =>
  z
    .strictObject({
      burst: wholeNumber(1, 1_000_000_000).describe('how many at once'),
      perMinute: positiveNumber().describe('how many per minute after that'),
    })
    .register(optionMeta, { kind: KIND }),
);

/** What is limited, for each rate limit. */
export const rateLimitDescriptions: Readonly<Record<keyof RateLimitPolicies, string>> = {
  refreshes: 'refreshes per grant',
  clientTokens: 'client credentials tokens per client',
  exchanges: 'token exchanges per grant, and for ID-JAGs per client and account',
  clientFailures: 'failed authentications per client and site (an IPv4 address, an IPv6 /48)',
  networkFailures: 'failed authentications per site',
  registrations: 'registrations per site',
  authorizations:
    'authorization requests per account, or per site without a session; assertions of clients that no user has connected, per site',
  federatedLogins: 'federated logins per account, or per authorization request',
  signIns:
    'sign-in attempts per account and network, right or wrong; end-to-end tests that sign in often need more, such as `{ "burst": 1000, "perMinute": 1000 }`',
  scim: 'SCIM requests, and operations of bulk requests, per identity provider',
};

const rateLimitsSchema = lazy(() => {
  const names = Object.keys(rateLimitDescriptions) as (keyof RateLimitPolicies)[];
  return z.strictObject(
    members(names, (name) => {
      const { burst, perMinute } = defaultRateLimits[name];
      return rateLimit()
        .default(defaultRateLimits[name])
        .describe(rateLimitDescriptions[name])
        .register(optionMeta, { defaultText: `${burst} at once, ${perMinute} per minute` });
    }),
  );
});
export const rateLimitOptions = {
  rateLimits: option(() => z.union([z.literal(false), rateLimitsSchema()]), {
    default: defaultRateLimits,
    section: 'Operation',
    description:
      'rate limits, each { burst, perMinute } and shared by all processes; `false` disables them, but not the limits of fetches of metadata documents and keys',
    defaultText: 'as below',
  }),
};
