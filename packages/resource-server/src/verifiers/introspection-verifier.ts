/** Verifies access tokens, opaque ones in particular, by introspection (RFC 7662). */
import {
  ConfigurationError,
  createLruCache,
  issuerError,
  numberIssues,
  type OptionNames,
  tokenRejected,
  unknownOptionIssues,
} from '@portcullis/protocol';
import { checkClaims, type TokenCompatibilityOptions } from './check-claims.ts';
import { readUnverifiedClaims } from './compact-jws.ts';
import { type FetchFunction, fetchLimits, isSecureEndpoint } from './fetch-json.ts';
import { createIntrospectionClient } from './introspection-client.ts';
import type { TokenExpectation, TokenVerifier, VerificationResult } from './token-verifier.ts';

/** The endpoint, the guard's credentials there, and how long responses are cached. */
export interface IntrospectionVerifierOptions extends TokenCompatibilityOptions {
  readonly issuer: string;
  /** The issuer's introspection endpoint. */
  readonly endpoint: string;
  /** The guard's client identifier there, for HTTP Basic. */
  readonly clientId: string;
  readonly clientSecret: string;
  /**
   * The form of the issuer's tokens, such as `/^opaque\.[\w-]{54,}$/` for Portcullis: others are rejected without a
   * request to the issuer.
   */
  readonly tokenPattern?: RegExp;
  /** Seconds for which a response is cached, the maximum delay of revocation; 10 by default. */
  readonly freshness?: number;
  readonly fetch?: FetchFunction;
  /** Milliseconds to wait for the issuer; 5,000 by default. */
  readonly timeout?: number;
}

const OPTIONS: OptionNames<IntrospectionVerifierOptions> = {
  ...{ issuer: true, endpoint: true, clientId: true, clientSecret: true, freshness: true },
  ...{ tokenPattern: true },
  ...{ fetch: true, timeout: true, allowMultipleAudiences: true, mapClaims: true },
};

/** Cache of inactive tokens. */
const INACTIVE_CACHE_LIMITS = { entries: 1000, characters: 1_000_000 };
/** Seconds for which they are cached: few, since a replica of the issuer may learn of a new token late. */
const INACTIVE_SECONDS = 5;

/**
 * Creates a verifier that uses introspection.
 * @throws ConfigurationError with every issue of the options
 * @see RFC 7662
 */
export function introspectionVerifier(options: IntrospectionVerifierOptions): TokenVerifier {
  validateOptions(options);
  const { issuer, freshness = 10 } = options;
  const issuers = Object.freeze([issuer]);
  const client = { id: options.clientId, secret: options.clientSecret };
  const ask = createIntrospectionClient(options.endpoint, fetchLimits(options), client);
  /** Epoch seconds until which a token is known to be inactive. */
  const inactive = createLruCache<number>(INACTIVE_CACHE_LIMITS);

  async function verify(token: string, expectation: TokenExpectation): Promise<VerificationResult> {
    const { now } = expectation;
    if (now < (inactive.get(token) ?? 0)) throw tokenRejected('token is not active');
    checkShape(token, expectation);
    const response = await ask(token, now, expectation.request?.address ?? null);
    if (response['active'] !== true || isOtherKind(response)) {
      inactive.set(token, now + INACTIVE_SECONDS);
      throw tokenRejected('token is not active');
    }
    const completed = completeClaims(response, issuer, now);
    const { claims, checked } = checkClaims(completed, issuers, expectation, options);
    return { claims, freshUntil: Math.min(checked.exp, now + freshness) };
  }

  /** Refuses without asking what cannot be a token of the issuer. */
  function checkShape(token: string, { now, clockTolerance }: TokenExpectation): void {
    if (options.tokenPattern?.test(token) === false) throw tokenRejected('token has another form');
    const { iss, exp } = readUnverifiedClaims(token) ?? {};
    if (iss !== undefined && iss !== issuer) throw tokenRejected('token names another issuer');
    if (typeof exp === 'number' && exp <= now - clockTolerance) throw tokenRejected('token has expired');
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
  if (options.tokenPattern !== undefined && !isStatelessPattern(options.tokenPattern))
    issues.push('tokenPattern must be a regular expression without the flags g and y');
  if (issues.length > 0) throw new ConfigurationError(issues);
}

/** With the flags `g` and `y` an expression remembers where it matched last. */
function isStatelessPattern(pattern: unknown): boolean {
  return pattern instanceof RegExp && !pattern.global && !pattern.sticky;
}

/** Members by which servers say what kind of token it is. None of them is required. */
const KIND_MEMBERS = ['token_type', 'token_use', 'typ'];

const OTHER_KIND = /(?:^|:)(?:refresh|offline|id)(?:[_ -]?token)?$/i;

/** An endpoint may report refresh tokens as active too: they are no access tokens, and they live longer. @see RFC 7662 §2.1 */
function isOtherKind(response: Readonly<Record<string, unknown>>): boolean {
  return KIND_MEMBERS.some((name) => {
    const kind = response[name];
    return typeof kind === 'string' && OTHER_KIND.test(kind);
  });
}

/**
 * A response may omit what a JWT must contain. Issuer and time follow from the request itself and are filled in.
 * Audience, subject and client are not: a token that does not name this resource is rejected.
 */
function completeClaims(
  { active: _active, ...claims }: Readonly<Record<string, unknown>>,
  issuer: string,
  now: number,
): Readonly<Record<string, unknown>> {
  return { iss: issuer, iat: now, ...claims, jti: claims['jti'] ?? 'introspected' };
}
