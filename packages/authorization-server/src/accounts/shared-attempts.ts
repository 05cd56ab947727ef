/** Guessing at passwords and codes is slowed down by all processes together: what each counts by itself is stricter, but forgets. */
import { networkOf } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import { createSharedFailures, type SharedFailures } from '../limits/shared-failures.ts';
import { createSharedTurns } from '../limits/shared-turns.ts';
import { createAttempts } from './attempts.ts';

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
      succeeded(): void;
      failed(): Promise<void>;
      /** Awaits the judgement; when there is none, because it rejects, the attempt is withdrawn. */
      judge<T>(judgement: Promise<T>): Promise<T>;
    };

export interface SharedAttempts {
  /**
   * @param address the peer's, if the host of this server knows it
   * @throws OAuthError `temporarily_unavailable`
   */
  begin(account: string, address: string | undefined): Promise<SharedAttempt>;
}

/** @param purpose what is tried: attempts of different kinds do not count together */
export function createSharedAttempts(
  configuration: Pick<Configuration, 'store' | 'limits' | 'clock'>,
  purpose: 'sign-in' | 'code',
): SharedAttempts {
  const attempts = createAttempts(configuration.clock);
  const turns = createSharedTurns(configuration, purpose);
  const findCounts = configuration.limits === null ? () => [] : createCounts(configuration, purpose);
  return {
    async begin(account, address) {
      // First here, before anything else runs, so that a hundred at once are no more than a hundred in a row.
      const own = attempts.begin(account, address);
      if (own.kind === 'wait') return own;
      const counts = own.isKnown ? [] : findCounts(account, address);
      const asked = [turns.take(account, address), ...counts.map(({ failures, key }) => failures.begin(key))];
      const waits = await Promise.all(asked).catch((error: unknown) => {
        own.withdrawn();
        throw error;
      });
      const seconds = Math.max(...waits);
      if (seconds > 0) {
        own.withdrawn();
        return { kind: 'wait', seconds };
      }
      return {
        kind: 'go',
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
}

/** Something that failures are counted by. */
interface Count {
  readonly failures: SharedFailures;
  readonly key: string;
}

function createCounts(
  configuration: Pick<Configuration, 'store' | 'clock'>,
  purpose: string,
): (account: string, address: string | undefined) => readonly Count[] {
  const ofAccount = createSharedFailures(configuration, `${purpose} of account`, LIMITS.account);
  const ofNetwork = createSharedFailures(configuration, `${purpose} from network`, LIMITS.network);
  return (account, address) => {
    const network = address === undefined ? null : networkOf(address);
    const counts = [{ failures: ofAccount, key: account }];
    return network === null ? counts : [...counts, { failures: ofNetwork, key: network }];
  };
}
