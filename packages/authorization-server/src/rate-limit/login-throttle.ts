/** Brute-force protection of sign-in: throttles guesses at passwords and codes without locking the account's owner out. */
import type { ConnectionInfo } from '@portcullis/http';
import { createLruCache } from '@portcullis/protocol';
import { hashSecret } from '../secrets.ts';
import {
  type Counter,
  createFailureLimiter,
  createLockout,
  createTokenBuckets,
  type FailureLimiter,
  type LimitContext,
  toStoredRateLimit,
} from './limiter.ts';
import { loginFailures, networkOf, type RateLimit, siteOf } from './policies.ts';

interface LoginAttempt {
  readonly account: string;
  readonly connection: ConnectionInfo;
  /** The identifier in a valid device cookie of this account; `null` without one. */
  readonly device?: string | null;
}

/** `throttled`: too many failures before, so nothing was verified. */
export type ThrottledLogin<T> =
  | { readonly kind: 'throttled'; readonly retryAfter: number }
  | { readonly kind: 'verified'; readonly result: T };

/**
 * Verifies a credential, unless there were too many failures before.
 * @param verify a false or null result is a failure; if it rejects, the attempt does not count. `isKnown`: this account signed
 *   in before with this device or from this network
 */
export type LoginThrottle = <T>(
  attempt: LoginAttempt,
  verify: (isKnown: boolean) => Promise<T>,
) => Promise<ThrottledLogin<T>>;

/** @param factor what is verified: failures of two do not count together. A passkey is counted once it is verified, so none fails */
export function createLoginThrottle(
  context: Pick<LimitContext, 'options' | 'store' | 'clock'>,
  factor: 'password' | 'code' | 'passkey',
): LoginThrottle {
  const { clock } = context;
  const { rateLimits } = context.options;
  const { pair: pairPolicy, account: accountPolicy, site: sitePolicy, device: devicePolicy } = loginFailures;
  const limitFailures = (key: string, counter: Counter, shared: RateLimit) =>
    createFailureLimiter(context, `failed ${factor} by ${key}`, counter, rateLimits && shared);
  const byPair = createLockout(pairPolicy, clock);
  const byAccount = limitFailures(
    'account',
    createLockout(accountPolicy.process, clock),
    accountPolicy.shared,
  );
  const bySite = limitFailures('site', createTokenBuckets(sitePolicy.process, clock), sitePolicy.shared);
  const byDevice = limitFailures('device', createTokenBuckets(devicePolicy, clock), devicePolicy);
  // Each attempt is charged at the store, so that a restart forgets none and processes together allow exactly the rate.
  const chargeSignIn = async (key: string): Promise<number> =>
    rateLimits === null
      ? 0
      : context.store.chargeRateLimit(
          hashSecret(`sign-in by ${factor} ${key}`),
          toStoredRateLimit(rateLimits.signIns),
          clock(),
        );
  const knownPairs = createLruCache<true>();

  const throttle: LoginThrottle = async ({ account, connection, device = null }, verify) => {
    // An address that cannot be parsed counts as a network of its own.
    const network = networkOf(connection) ?? connection.address ?? null;
    const site = siteOf(connection) ?? network;
    const pair = `${network ?? ''} ${account}`;
    const isDeviceKnown = device !== null && byDevice.waitOf(device) === 0;
    const isKnown = isDeviceKnown || knownPairs.get(pair) === true;
    const limits: (readonly [FailureLimiter, string])[] = [];
    if (isDeviceKnown) limits.push([byDevice, device]);
    if (!isKnown) limits.push([byAccount, account]);
    if (!isKnown && site !== null) limits.push([bySite, site]);

    const wait = Math.max(
      isDeviceKnown ? 0 : byPair.waitOf(pair),
      ...limits.map(([limiter, key]) => limiter.waitOf(key)),
    );
    if (wait > 0) return { kind: 'throttled', retryAfter: wait };
    // It counts as failed until it has succeeded, so that a hundred guesses at once are no more than a hundred in a row.
    byPair.take(pair);
    for (const [limiter, key] of limits) limiter.take(key);
    const refund = () => {
      byPair.refund(pair);
      for (const [limiter, key] of limits) limiter.refund(key);
    };

    const sharedWaits = await Promise.all([
      chargeSignIn(isDeviceKnown ? `${account} with a device cookie` : pair),
      ...limits.map(([limiter, key]) => limiter.prepay(key)),
    ]).catch((error: unknown) => {
      refund();
      throw error;
    });
    const sharedWait = Math.max(...sharedWaits);
    if (sharedWait > 0) {
      refund();
      // A device cookie that failed too often in all processes together is worth no more than none.
      return isDeviceKnown
        ? throttle({ account, connection }, verify)
        : { kind: 'throttled', retryAfter: sharedWait };
    }

    const result = await verify(isKnown).catch((error: unknown) => {
      refund();
      throw error;
    });
    if (result) {
      refund();
      byPair.reset(pair);
      knownPairs.set(pair, true);
      for (const [limiter, key] of limits) limiter.succeeded(key);
    } else {
      await Promise.all(limits.map(([limiter, key]) => limiter.failed(key)));
    }
    return { kind: 'verified', result };
  };
  return throttle;
}
