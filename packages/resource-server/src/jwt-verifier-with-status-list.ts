/** The public JWT verifier: local verification composed with optional revocation by token status lists. */
import { ConfigurationError, type OptionNames, unknownOptionIssues } from '@portcullis/protocol';
import {
  createJwtVerifier,
  LOCAL_VERIFICATION_OPTIONS,
  type LocalVerificationOptions,
  localVerificationIssues,
} from './verifiers/jwt-verifier.ts';
import {
  createStatusListCheck,
  type StatusListOptions,
  statusListIssues,
} from './verifiers/status-list/status-list-check.ts';
import type { TokenVerifier } from './verifiers/token-verifier.ts';

export type { StatusListOptions } from './verifiers/status-list/status-list-check.ts';

/** Options of `jwtVerifier`: where the keys are, and whether status lists are polled. */
export interface JwtVerifierOptions extends LocalVerificationOptions {
  /** Polls the status lists named by the tokens, so that a revoked token is rejected within `freshness`. */
  readonly statusList?: boolean | StatusListOptions;
}

const OPTIONS: OptionNames<JwtVerifierOptions> = { ...LOCAL_VERIFICATION_OPTIONS, statusList: true };
const STATUS_LIST: OptionNames<StatusListOptions> = {
  ...{ freshness: true, staleIfError: true, withoutStatus: true, origins: true, clock: true },
};

/**
 * Creates a verifier of JWT access tokens.
 * @throws ConfigurationError with every issue of the options
 * @see RFC 9068 §4, RFC 8725, draft-ietf-oauth-status-list
 */
export function jwtVerifier(options: JwtVerifierOptions): TokenVerifier {
  const { statusList = false } = options;
  const issues = optionIssues(options);
  if (issues.length > 0) throw new ConfigurationError(issues);
  if (statusList === false) return createJwtVerifier(options);
  const statusOptions = statusList === true ? {} : statusList;
  return createJwtVerifier(options, (context) => createStatusListCheck(statusOptions, context));
}

function optionIssues(options: JwtVerifierOptions): readonly string[] {
  const { statusList = false, isLive } = options;
  const areExclusive = statusList !== false && isLive !== undefined;
  return [
    ...unknownOptionIssues(options, OPTIONS),
    ...unknownOptionIssues(statusList, STATUS_LIST, 'statusList.'),
    ...localVerificationIssues(options),
    ...(areExclusive ? ['isLive and statusList are mutually exclusive'] : []),
    ...(typeof statusList === 'object' ? statusListIssues(statusList) : []),
  ];
}
