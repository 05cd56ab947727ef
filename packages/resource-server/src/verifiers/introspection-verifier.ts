/** Verifies access tokens, opaque ones above all, by asking their issuer whether they are active. */
import {
  ConfigurationError,
  issuerError,
  OAuthError,
  type OptionNames,
  unknownOptionIssues,
} from '@portcullis/protocol/protected-resource';
import { createLruCache } from '../lru-cache.ts';
import { numberIssues } from '../number-issues.ts';
import { checkClaims, type TokenCompatibilityOptions } from './check-claims.ts';
import { defaultFetchLimits, type FetchFunction, isSecureEndpoint } from './fetch-json.ts';
import { createIntrospectionClient } from './introspection-client.ts';
import type { TokenExpectation, TokenVerifier, VerificationResult } from './token-verifier.ts';

/** Who is asked about tokens, as whom, and for how long an answer counts. */
export interface IntrospectionVerifierOptions extends TokenCompatibilityOptions {
  readonly issuer: string;
  /** Its introspection endpoint. */
  readonly endpoint: string;
  /** With which the guard authenticates there, by HTTP Basic. */
  readonly clientId: string;
  readonly clientSecret: string;
  /** Seconds for which an answer is believed: the bound between revocation and refusal; 10 when left out. */
  readonly freshness?: number;
  readonly fetch?: FetchFunction;
  /** Milliseconds that the issuer may take to answer; 5,000 when left out. */
  readonly timeout?: number;
}

const OPTIONS: OptionNames<IntrospectionVerifierOptions> = {
  ...{ issuer: true, endpoint: true, clientId: true, clientSecret: true, freshness: true },
  ...{ fetch: true, timeout: true, allowMultipleAudiences: true, mapClaims: true },
};

/** Tokens that were found inactive. */
const INACTIVE_CACHE_LIMITS = { entries: 1000, characters: 1_000_000 };
/** Seconds for which they are not asked for again: not many, since a part of the issuer may learn late of a new token. */
const INACTIVE_SECONDS = 5;

/**
 * Creates a verifier that asks the issuer.
 * @throws ConfigurationError with every fault of the options.
 * @see RFC 7662
 */
export function introspectionVerifier(options: IntrospectionVerifierOptions): TokenVerifier {
  validateOptions(options);
  const { issuer, freshness = 10 } = options;
  const issuers = Object.freeze([issuer]);
  const ask = createIntrospectionClient(
    options.endpoint,
    {
      fetch: options.fetch ?? defaultFetchLimits.fetch,
      timeout: options.timeout ?? defaultFetchLimits.timeout,
    },
    { id: options.clientId, secret: options.clientSecret },
  );
  /** Until when, in epoch seconds. */
  const inactive = createLruCache<number>(INACTIVE_CACHE_LIMITS);

  async function verify(token: string, expectation: TokenExpectation): Promise<VerificationResult> {
    const { now } = expectation;
    if (now < (inactive.get(token) ?? 0)) throw inactiveToken();
    const response = await ask(token, now);
    if (response['active'] !== true) {
      inactive.set(token, now + INACTIVE_SECONDS);
      throw inactiveToken();
    }
    const answered = completeClaims(response, issuer, now);
    const { claims, checked } = checkClaims(answered, issuers, expectation, options);
    return { claims, freshUntil: Math.min(checked.exp, now + freshness) };
  }

  return { issuers, opaque: true, verify };
}

function validateOptions(given: IntrospectionVerifierOptions): void {
  const { issuer, endpoint, clientId, clientSecret, ...options } = given;
  const { freshness, timeout } = options;
  const issues: string[] = [...unknownOptionIssues(given, OPTIONS), ...numberIssues({ freshness, timeout })];
  const wrong = issuerError(issuer);
  if (wrong !== null) issues.push(`issuer ${wrong}`);
  if (!isSecureEndpoint(endpoint)) issues.push('endpoint must be an absolute https URL');
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

function inactiveToken(): OAuthError {
  return new OAuthError('invalid_token', 'The access token is not valid here.', {
    reason: 'token is not active',
  });
}
