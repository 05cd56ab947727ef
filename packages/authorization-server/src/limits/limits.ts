/** How often clients may do what: refresh, get tokens of their own, exchange, register. */
import type { ConnectionInfo } from '@portcullis/http';
import { sitePrefixOf, tooManyRequests } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import { hashSecret } from '../secrets.ts';
import type { Turn } from '../store/index.ts';
import type { Rate } from './buckets.ts';
import type { LimitRules } from './limit-options.ts';
import { createSharedRate, type SharedRate } from './shared-rate.ts';
import { turnLimitOf } from './turn-limit.ts';

export interface Limits {
  /** @throws OAuthError 429 */
  checkRefresh(grantId: string): Promise<void> | undefined;
  /** @throws OAuthError 429 */
  checkClientToken(clientId: string): Promise<void> | undefined;
  /** @throws OAuthError 429 */
  checkExchange(grantId: string): Promise<void> | undefined;
  /** The turn that a registration takes, of the site that it comes from; `null` when nobody counts it. */
  registrationTurn(connection: ConnectionInfo): Turn | null;
}

export function createLimits(configuration: Configuration): Limits {
  const { rateLimits: limits } = configuration;
  return limits === null ? unlimited : createLimitsOf(configuration, limits);
}

const unlimited: Limits = {
  checkRefresh: () => undefined,
  checkClientToken: () => undefined,
  checkExchange: () => undefined,
  registrationTurn: () => null,
};

function createLimitsOf(configuration: Configuration, rules: LimitRules): Limits {
  const refreshes = createSharedRate(configuration, 'refreshes', rules.refreshes);
  const clientTokens = createSharedRate(configuration, 'tokens of client', rules.clientTokens);
  const exchanges = createSharedRate(configuration, 'exchanges', rules.exchanges);
  return {
    checkRefresh: (grantId) => check(refreshes, grantId, 'refreshes of one grant'),
    checkClientToken: (clientId) => check(clientTokens, clientId, 'tokens of one client'),
    checkExchange: (grantId) => check(exchanges, grantId, 'token exchanges for one grant'),
    registrationTurn: createRegistrationTurn(configuration, rules.registrations),
  };
}

/** The usual answer is at hand, and costs no promise. */
function check(rate: SharedRate, key: string, of: string): Promise<void> | undefined {
  const wait = rate.take(key);
  if (wait === 0) return undefined;
  const refuse = (seconds: number) => {
    if (seconds > 0) throw tooManyRequests(`too many ${of}: ${key}`, seconds);
  };
  return typeof wait === 'number' ? void refuse(wait) : wait.then(refuse);
}

/** Counted by site: what a registration keeps in the store, it keeps there for whoever sent it, from whichever network of theirs. */
function createRegistrationTurn({ clock }: Configuration, rate: Rate): Limits['registrationTurn'] {
  const limit = turnLimitOf(rate);
  return ({ address }) => {
    const site = address === undefined ? null : sitePrefixOf(address);
    return site === null ? null : { key: hashSecret(`registration ${site}`), limit, now: clock() };
  };
}
