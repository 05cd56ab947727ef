/** Options of dynamic client registration: who may register, and what a registration can obtain. */
import { issuerError } from '@portcullis/protocol';
import * as z from 'zod';
import {
  checkedText,
  lazy,
  list,
  type OutputOf,
  optional,
  secret,
  wholeNumber,
} from '../option-schema/fields.ts';
import { type OptionReport, readDefaults } from '../option-schema/reader.ts';
import { MIN_UNGUESSABLE_SECRET } from '../rate-limit/policies.ts';
import { hashSecret } from '../secrets.ts';

/** Options of dynamic client registration. @see RFC 7591 */
export const registrationSchema = lazy(() =>
  z.strictObject({
    initialAccessTokens: optional(
      list(secret(MIN_UNGUESSABLE_SECRET), 1),
      'bearer tokens, one of which a registration has to present',
      'anyone may register',
    ),
    requireInitialAccessToken: optional(
      z.boolean(),
      'whether a registration needs one of those, or one issued by `portcullis clients invite`',
      '`true` with `initialAccessTokens`, else `false`',
    ),
    scope: z
      .enum(['ceiling', 'hint'])
      .default('hint')
      .describe(
        'whether the scope that a client registers is a `ceiling` for all that it can get, or a `hint`',
      ),
    maxUnusedClients: wholeNumber(1, 100_000_000)
      .default(20_000)
      .describe('how many registrations may wait for their first token'),
    softwareStatementIssuers: list(checkedText('an https URL', issuerError))
      .default([])
      .describe('issuers whose software statements are accepted, with keys found by discovery'),
    management: z
      .boolean()
      .default(true)
      .describe('whether clients may read, change and delete their registrations (RFC 7592)'),
  }),
);

/** Validated registration options. */
export interface RegistrationRules
  extends Required<Omit<OutputOf<typeof registrationSchema>, 'initialAccessTokens'>> {
  /** Base64url SHA-256 of each. */
  readonly initialAccessHashes: readonly string[];
}

/** @returns `null`: registration is disabled */
export function validateRegistration(
  options: boolean | OutputOf<typeof registrationSchema>,
  report: OptionReport,
): RegistrationRules | null {
  if (options === false) return null;
  const {
    initialAccessTokens,
    requireInitialAccessToken = initialAccessTokens !== undefined,
    ...others
  } = options === true ? readDefaults(registrationSchema()) : options;
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
    ...others,
  });
}
