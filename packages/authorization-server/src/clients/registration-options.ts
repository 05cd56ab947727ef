/** Options of dynamic client registration: who may register, and what a registration can obtain. */
import { issuerError } from '@portcullis/protocol';
import type * as z from 'zod';
import {
  boolean,
  booleanOr,
  checkedText,
  lazy,
  list,
  type OptionReport,
  object,
  oneOf,
  optional,
  secret,
  wholeNumber,
} from '../option-schema.ts';
import { MIN_UNGUESSABLE_SECRET } from '../rate-limit/policies.ts';
import { hashSecret } from '../secrets.ts';

/** Options of dynamic client registration. @see RFC 7591 */
export interface RegistrationOptions {
  /** Initial access tokens for any number of registrations; anyone may register when left out. @see RFC 7591 §3 */
  readonly initialAccessTokens?: readonly string[];
  /**
   * Whether a registration needs an initial access token: one of `initialAccessTokens`, or one that an administrator issued for
   * a single registration. `true` with `initialAccessTokens`, else `false`.
   */
  readonly requireInitialAccessToken?: boolean;
  /**
   * What a registered scope means: a `ceiling` for everything that the client can ever get, or (the default) a `hint` that
   * limits nothing, because clients register before they know which scopes exist.
   */
  readonly scope?: 'ceiling' | 'hint';
  /** Registrations that may wait for their first token at a time; 20,000 by default. */
  readonly maxUnusedClients?: number;
  /** Whether clients may read, change and delete their registrations; `true` by default. @see RFC 7592 */
  readonly management?: boolean;
  /** Issuers whose software statements are accepted; none by default. @see RFC 7591 §2.3 */
  readonly softwareStatementIssuers?: readonly string[];
}

/** Validated registration options. */
export interface RegistrationRules extends Required<Omit<RegistrationOptions, 'initialAccessTokens'>> {
  /** Base64url SHA-256 of each. */
  readonly initialAccessHashes: readonly string[];
}

export const registrationSchema: () => z.ZodType<boolean | RegistrationOptions> = lazy(() =>
  booleanOr(
    object<RegistrationOptions>({
      initialAccessTokens: optional(
        list(secret(MIN_UNGUESSABLE_SECRET), 1),
        'bearer tokens, one of which a registration has to present',
        { defaultText: 'anyone may register' },
      ),
      requireInitialAccessToken: optional(
        boolean(),
        'whether a registration needs one of those, or one issued by `portcullis clients invite`',
        { defaultText: '`true` with `initialAccessTokens`, else `false`' },
      ),
      scope: optional(
        oneOf('ceiling', 'hint'),
        'whether the scope that a client registers is a `ceiling` for all that it can get, or a `hint`',
        { default: 'hint' },
      ),
      maxUnusedClients: optional(
        wholeNumber(1, 100_000_000),
        'how many registrations may wait for their first token',
        { default: 20_000 },
      ),
      softwareStatementIssuers: optional(
        list(checkedText('an https URL', issuerError)),
        'issuers whose software statements are accepted, with keys found by discovery',
        { defaultText: 'none' },
      ),
      management: optional(
        boolean(),
        'whether clients may read, change and delete their registrations (RFC 7592)',
        { default: true },
      ),
    }),
  ),
);

/** @returns `null`: registration is disabled */
export function validateRegistration(
  options: boolean | RegistrationOptions,
  report: OptionReport,
): RegistrationRules | null {
  if (options === false) return null;
  const {
    initialAccessTokens,
    requireInitialAccessToken = initialAccessTokens !== undefined,
    scope = 'hint',
    maxUnusedClients = 20_000,
    management = true,
    softwareStatementIssuers = [],
  } = options === true ? {} : options;
  const at = ['registration', 'initialAccessTokens'];
  if (!report.isUnread(...at)) {
    if (initialAccessTokens?.some((token) => !/^[A-Za-z0-9\-._~+/]+=*$/.test(token)) === true) {
      report.add(at, 'must be bearer tokens: letters, digits and -._~+/ (RFC 6750 §2.1)');
    }
    if (!requireInitialAccessToken && initialAccessTokens !== undefined) {
      report.add(['registration', 'requireInitialAccessToken'], 'must not be false with initialAccessTokens');
    }
  }
  return Object.freeze<RegistrationRules>({
    // A token that failed validation has been left out.
    initialAccessHashes: (initialAccessTokens ?? []).filter((token) => token !== undefined).map(hashSecret),
    requireInitialAccessToken,
    scope,
    maxUnusedClients,
    management,
    softwareStatementIssuers,
  });
}
