/** Guessing at passwords and codes is slowed down by all processes together: what each counts by itself is stricter, but forgets. */

import { networkPrefixOf } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { type Attempts, createAttempts, OF_BROWSER } from './attempts.ts';
import { createFailureLimiter, type FailureLimiter } from './shared-failures.ts';
import { createSharedTurns } from './shared-turns.ts';

/**
 * What all processes together allow in failures, of one account and of one network, to those who did not succeed from there
 * before. More than one process allows alone: strangers who guess at all of them lock nobody out any sooner.
 */
const LIMITS = {
  account: { burst: 100, perMinute: 4 },
  network: { burst: 300, perMinute: 60 },
} as const;

/** What became of the question whether somebody may try. */
type SharedAttempt =
  | { readonly kind: 'wait'; readonly seconds: number }
  /** One of these has to be called. */
  | {
      readonly kind: 'go';
      /** Whether this account succeeded with this browser, or from this network, before. */
      readonly isKnown: boolean;
      succeeded(): void;
      failed(): Promise<void>;
      /** Awaits the judgement; when there is none, because it rejects, the attempt is withdrawn. */
      judge<T>(judgement: Promise<T>): Promise<T>;
    };

export interface LoginThrottle {
  /**
   * @param address the peer's, if the host of this server knows it
   * @param browser the name of a browser that is known of this account
   * @throws OAuthError `temporarily_unavailable`
   */
  begin(account: string, address: string | undefined, browser?: string | null): Promise<SharedAttempt>;
}

/** @param purpose what is tried: attempts of different kinds do not count together */
export function createLoginThrottle(
  context: Pick<ServerContext, 'store' | 'clock' | 'options'>,
  purpose: 'sign-in' | 'code',
): LoginThrottle {
  const attempts = createAttempts(context.clock);
  const turns = createSharedTurns(context, purpose);
  const findCounts = context.options.rateLimits === null ? () => [] : createCounts(context, purpose);
  // What succeeds with known browsers takes turns by account: each success gives the browser a new name.
  const takeTurn = (account: string, address: string | undefined, knownBy: KnownBy) =>
    knownBy === 'browser'
      ? turns.take(`${account} in a known browser`, undefined)
      : turns.take(account, address);

  const shared: LoginThrottle = {
    async begin(account, address, browser = null) {
      // First here, before anything else runs, so that a hundred at once are no more than a hundred in a row.
      const own = attempts.begin(account, address, browser);
      if (own.kind === 'wait') return own;
      const { knownBy } = own;
      const counts = findCounts(knownBy, account, address, browser);
      const asked = [
        takeTurn(account, address, knownBy),
        ...counts.map(({ failures, key }) => failures.begin(key)),
      ];
      const waits = await Promise.all(asked).catch((error: unknown) => {
        own.withdrawn();
        throw error;
      });
      const seconds = Math.max(...waits);
      if (seconds > 0) {
        own.withdrawn();
        // All processes together have seen it fail too often: it is like any other.
        return knownBy === 'browser' ? shared.begin(account, address) : { kind: 'wait', seconds };
      }
      return {
        kind: 'go',
        isKnown: knownBy !== null,
        judge: (judgement) =>
          judgement.catch((error: unknown) => {
            own.withdrawn();
            throw error;
          }),
        succeeded() {
          own.succeeded();
          for (const { failures, key } of counts) failures.succeeded(key);
        },
        async failed() {
          await Promise.all(counts.map(({ failures, key }) => failures.failed(key)));
        },
      };
    },
  };
  return shared;
}

type KnownBy = Extract<ReturnType<Attempts['begin']>, { kind: 'go' }>['knownBy'];

/** Something that failures are counted by. */
interface Count {
  readonly failures: FailureLimiter;
  readonly key: string;
}

function createCounts(
  context: Pick<ServerContext, 'store' | 'clock'>,
  purpose: string,
): (
  knownBy: KnownBy,
  account: string,
  address: string | undefined,
  browser: string | null,
) => readonly Count[] {
  const ofAccount = createFailureLimiter(context, `${purpose} of account`, LIMITS.account);
  const ofNetwork = createFailureLimiter(context, `${purpose} from network`, LIMITS.network);
  const ofBrowser = createFailureLimiter(context, `${purpose} with browser`, OF_BROWSER);
  return (knownBy, account, address, browser) => {
    if (knownBy === 'browser' && browser !== null) return [{ failures: ofBrowser, key: browser }];
    if (knownBy !== null) return [];
    const network = address === undefined ? null : networkPrefixOf(address);
    const counts = [{ failures: ofAccount, key: account }];
    return network === null ? counts : [...counts, { failures: ofNetwork, key: network }];
  };
}
