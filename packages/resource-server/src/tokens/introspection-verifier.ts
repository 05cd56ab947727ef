/** Verifies access tokens, opaque ones above all, by asking their issuer whether they are active. */
import {
  issuerError,
  OAuthError,
  type OptionNames,
  unknownOptionIssues,
} from '@portcullis/protocol/protected-resource';
import { ConfigurationError } from '../configuration-error.ts';
import { createMemory } from '../memory.ts';
import { numberIssues } from '../numbers.ts';
import type { TokenExpectation, TokenVerifier, VerifiedToken } from '../verifier.ts';
import { type ForeignTokens, judgeClaims } from './claims.ts';
import { createQuestions } from './questions.ts';
import { defaultRemoteLimits, type Fetch, isTrustworthy } from './remote.ts';

/** Who is asked about tokens, as whom, and for how long an answer counts. */
export interface IntrospectionVerifierOptions extends ForeignTokens {
  readonly issuer: string;
  /** Its introspection endpoint. */
  readonly endpoint: string;
  /** With which the guard authenticates there, by HTTP Basic. */
  readonly clientId: string;
  readonly clientSecret: string;
  /** Seconds for which an answer is believed: the bound between revocation and refusal; 10 when left out. */
  readonly freshness?: number;
  readonly fetch?: Fetch;
  /** Milliseconds that the issuer may take to answer; 5,000 when left out. */
  readonly timeout?: number;
}

const OPTIONS: OptionNames<IntrospectionVerifierOptions> = {
  ...{ issuer: true, endpoint: true, clientId: true, clientSecret: true, freshness: true },
  ...{ fetch: true, timeout: true, severalAudiences: true, translate: true },
};

/** Tokens that were found inactive. */
const REMEMBERED_REFUSALS = { entries: 1000, characters: 1_000_000 };
/** Seconds for which they are not asked for again: not many, since a part of the issuer may learn late of a new token. */
const REFUSED_FOR = 5;

/**
 * Creates a verifier that asks the issuer.
 * @throws ConfigurationError with every fault of the options.
 * @see RFC 7662
 */
export function introspectionVerifier(options: IntrospectionVerifierOptions): TokenVerifier {
  judge(options);
  const { issuer, freshness = 10 } = options;
  const issuers = Object.freeze([issuer]);
  const ask = createQuestions(
    options.endpoint,
    {
      fetch: options.fetch ?? defaultRemoteLimits.fetch,
      timeout: options.timeout ?? defaultRemoteLimits.timeout,
    },
    { id: options.clientId, secret: options.clientSecret },
  );
  /** Until when, in epoch seconds. */
  const inactive = createMemory<number>(REMEMBERED_REFUSALS);

  async function verify(token: string, expectation: TokenExpectation): Promise<VerifiedToken> {
    const { now } = expectation;
    if (now < (inactive.find(token) ?? 0)) throw refused();
    const response = await ask(token, now);
    if (response['active'] !== true) {
      inactive.keep(token, now + REFUSED_FOR);
      throw refused();
    }
    const answered = completeClaims(response, issuer, now);
    const { claims, checked } = judgeClaims(answered, issuers, expectation, options);
    return { claims, freshUntil: Math.min(checked.exp, now + freshness) };
  }

  return { issuers, opaque: true, verify };
}

function judge(given: IntrospectionVerifierOptions): void {
  const { issuer, endpoint, clientId, clientSecret, ...options } = given;
  const { freshness, timeout } = options;
  const issues: string[] = [...unknownOptionIssues(given, OPTIONS), ...numberIssues({ freshness, timeout })];
  const wrong = issuerError(issuer);
  if (wrong !== null) issues.push(`issuer ${wrong}`);
  if (!isTrustworthy(endpoint)) issues.push('endpoint must be an absolute https URL');
  if (!clientId) issues.push('clientId is empty');
  if (!clientSecret) issues.push('clientSecret is empty');
  if (issues.length > 0) throw new ConfigurationError(issues);
}

/**
 * An answer may leave out what a JWT must say. What the asking itself proves is filled in: issuer and time. Audience,
 * subject and client are not: a token that does not name this resource stays refused.
 */
function completeClaims(
  { active: _active, ...claims }: Readonly<Record<string, unknown>>,
  issuer: string,
  now: number,
): Readonly<Record<string, unknown>> {
  return { iss: issuer, iat: now, ...claims, jti: claims['jti'] ?? 'introspected' };
}

function refused(): OAuthError {
  return new OAuthError('invalid_token', 'The access token is not valid here.', {
    reason: 'token is not active',
  });
}
