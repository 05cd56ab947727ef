/** How often what may be done, as an operator says it. */
import type { Rate } from './buckets.ts';

/** Each has a burst and a rate a minute. What is not named keeps its default. */
export interface LimitOptions {
  /** Refreshes of one grant, over all processes. */
  readonly refreshes?: Rate;
  /** Tokens that one application gets for itself, over all processes. */
  readonly clientTokens?: Rate;
  /** Tokens of third parties that a protected server gets for one grant, over all processes. */
  readonly exchanges?: Rate;
  /**
   * Failed authentications of one client from one network, over all processes. Whoever is right is held to it only where a
   * secret of the configuration is so short that it might be guessed.
   */
  readonly clientFailures?: Rate;
  /** Failed authentications from one network, over all processes. Whoever is right is not held to it. */
  readonly networkFailures?: Rate;
  /** Registrations from one network, over all processes. */
  readonly registrations?: Rate;
  /** Authorization requests of one account, or of people who are not signed in from one network, over all processes. */
  readonly authorizations?: Rate;
  /** Departures to third parties of one account, or of one request of an app, over all processes. */
  readonly federatedLogins?: Rate;
  /** Attempts to sign in to one account from one network, over all processes. */
  readonly signIns?: Rate;
}

export type LimitRules = Readonly<Required<LimitOptions>>;

/**
 * Nobody who means well meets one of these. A platform that sends the traffic of all its users from a few addresses is one
 * network, so a network is never limited in what it does with success, but for what a stranger can make this server keep.
 */
export const defaultLimits: LimitRules = {
  refreshes: { burst: 300, perMinute: 60 },
  clientTokens: { burst: 600, perMinute: 600 },
  exchanges: { burst: 300, perMinute: 60 },
  clientFailures: { burst: 10, perMinute: 6 },
  networkFailures: { burst: 100, perMinute: 60 },
  registrations: { burst: 300, perMinute: 30 },
  authorizations: { burst: 600, perMinute: 300 },
  federatedLogins: { burst: 60, perMinute: 30 },
  signIns: { burst: 20, perMinute: 2 },
};

/** @returns `null` when nothing is limited */
export function judgeLimits(options: LimitOptions | false, issues: string[]): LimitRules | null {
  if (options === false) return null;
  const rules = { ...defaultLimits, ...options };
  for (const [name, { burst, perMinute }] of Object.entries(rules)) {
    if (!Number.isSafeInteger(burst) || burst < 1) issues.push(`rateLimits.${name}.burst must be at least 1`);
    // Shared limits count in whole seconds.
    if (!(perMinute > 0)) issues.push(`rateLimits.${name}.perMinute must be more than 0`);
  }
  return Object.freeze(rules);
}
