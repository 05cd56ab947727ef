/** How often what may be done, as an operator says it. */
import type { RateLimit } from './limiter.ts';

/** Each has a burst and a rate a minute. What is not named keeps its default. */
export interface RateLimitOptions {
  /** Refreshes of one grant, over all processes. */
  readonly refreshes?: RateLimit;
  /** Tokens that one application gets for itself, over all processes. */
  readonly clientTokens?: RateLimit;
  /** Tokens of third parties that a protected server gets for one grant, over all processes. */
  readonly exchanges?: RateLimit;
  /**
   * Failed authentications of one client from one network, over all processes. Whoever is right is held to it only where a
   * secret of the configuration is so short that it might be guessed.
   */
  readonly clientFailures?: RateLimit;
  /** Failed authentications from one network, over all processes. Whoever is right is not held to it. */
  readonly networkFailures?: RateLimit;
  /** Registrations from one network, over all processes. */
  readonly registrations?: RateLimit;
  /** Authorization requests of one account, or of people who are not signed in from one network, over all processes. */
  readonly authorizations?: RateLimit;
  /** Departures to third parties of one account, or of one request of an app, over all processes. */
  readonly federatedLogins?: RateLimit;
  /** Attempts to sign in to one account from one network, over all processes. */
  readonly signIns?: RateLimit;
}

export type RateLimitPolicies = Readonly<Required<RateLimitOptions>>;

/**
 * Nobody who means well meets one of these. A platform that sends the traffic of all its users from a few addresses is one
 * network, so a network is never limited in what it does with success, but for what a stranger can make this server keep.
 */
export const defaultRateLimits: RateLimitPolicies = {
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
