/** Lifetimes of tokens, grants, sessions and registrations, in seconds. */
import type * as z from 'zod';
import { lazy, object, optional, seconds } from './option-schema.ts';

/** Seconds. */
export interface Lifetimes {
  /** An access token. @see RFC 6749 §5.1, `expires_in` */
  readonly accessToken: number;
  /** An authorization code. @see RFC 6749 §4.1.2 */
  readonly code: number;
  /** An authorization transaction, from the request to the code. */
  readonly transaction: number;
  /** A browser session at this server. */
  readonly session: number;
  /** A refresh token that is not used expires. */
  readonly refreshIdle: number;
  /** A grant, however often its tokens are refreshed. */
  readonly grant: number;
  /** The longest lifetime that users can choose for a personal access token. */
  readonly personalAccessToken: number;
  /**
   * How long a rotated refresh token still returns the same successor. `null`: until that successor has been used, so that a lost
   * response never ends a session. A number: so long after its rotation; 0: never.
   */
  readonly refreshGrace: number | null;
  /** A registered client that never obtained a token is deleted. */
  readonly unusedClient: number;
  /** A registered client is deleted this long after its last token, unless it has a live grant. */
  readonly usedClient: number;
}

/** Lifetimes that apply unless the options replace them, in seconds. */
export const defaultLifetimes: Lifetimes = {
  accessToken: 600,
  code: 60,
  transaction: 600,
  session: 14 * 86_400,
  refreshIdle: 30 * 86_400,
  grant: 365 * 86_400,
  personalAccessToken: 90 * 86_400,
  refreshGrace: null,
  unusedClient: 86_400,
  usedClient: 90 * 86_400,
};

const lifetime = (name: Exclude<keyof Lifetimes, 'refreshGrace'>, description: string): z.ZodType<number> =>
  optional(seconds(1), description, { default: defaultLifetimes[name] });

export const lifetimesSchema: () => z.ZodType<Lifetimes> = lazy(() =>
  object<Lifetimes>({
    accessToken: lifetime('accessToken', 'access token'),
    code: lifetime('code', 'authorization code'),
    transaction: lifetime('transaction', 'authorization transaction, from the request to the code'),
    session: lifetime('session', 'browser session'),
    refreshIdle: lifetime('refreshIdle', 'refresh token that is not used'),
    grant: lifetime('grant', 'grant, however often its tokens are refreshed'),
    personalAccessToken: lifetime(
      'personalAccessToken',
      'longest that users can choose for a personal access token',
    ),
    refreshGrace: optional(
      seconds(0, undefined, ', or null').nullable(),
      'how long a rotated refresh token returns the same successor again; `null`: until that successor is used; `0`: never',
      { default: defaultLifetimes.refreshGrace },
    ),
    unusedClient: lifetime('unusedClient', 'registered client that never obtained a token'),
    usedClient: lifetime(
      'usedClient',
      'registered client since its last token, unless it holds a live grant',
    ),
  }),
);
