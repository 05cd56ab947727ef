/** Verifies JWT access tokens (RFC 9068) locally, with the public keys of their issuer. */
import {
  ConfigurationError,
  issuerError,
  JWS_ALGORITHMS,
  type JwsAlgorithm,
  numberIssues,
  type OptionNames,
  tokenRejected,
  unknownOptionIssues,
} from '@portcullis/protocol';
import type { VerifiedClaims } from '../principal.ts';
import { checkClaims, dangerouslyAcceptTypes, type TokenCompatibilityOptions } from './check-claims.ts';
import { parseCompactJws } from './compact-jws.ts';
import {
  discoverEndpoint,
  type FetchFunction,
  fetchJson,
  fetchLimits,
  isSecureEndpoint,
} from './fetch-json.ts';
import {
  createFixedKeys,
  createKeySource,
  defaultKeyLimits,
  inProcessKeyLimits,
  type KeyLimits,
  type KeySource,
} from './key-source.ts';
import { type KeySet, type PublicKey, type PublicKeys, readKeySet } from './public-keys.ts';
import type { TokenExpectation, TokenVerifier, VerificationResult } from './token-verifier.ts';

/** Options of `jwtVerifier`: where the keys are, and whether revocation is checked. */
export interface JwtVerifierOptions extends TokenCompatibilityOptions {
  readonly [dangerouslyAcceptTypes]?: readonly string[];
  /** The issuer identifier, byte for byte as in its tokens. */
  readonly issuer: string;
  /**
   * Its keys: a fixed set, or a function that returns them, such as `jwks` of an authorization server in this
   * process.
   */
  readonly jwks?: KeySet | (() => Promise<KeySet>);
  /** The URL of its keys. Without this and `jwks`, it is taken from the issuer's metadata. */
  readonly jwksUri?: string;
  /**
   * Checks revocation at every request, with immediate effect: `isLive` of an authorization server in this process. The second
   * argument is the `kid` of the key that verified the token, which may have been withdrawn since.
   */
  readonly isLive?: (claims: VerifiedClaims, keyId?: string) => boolean | Promise<boolean>;
  /** Allowed signature algorithms; ES256, EdDSA, RS256 and PS256 by default. A token cannot extend the list. */
  readonly algorithms?: readonly JwsAlgorithm[];
  /** How long keys are cached. */
  readonly keys?: Partial<KeyLimits>;
  /** Seconds for which a verified token is not verified again; 60 by default. */
  readonly freshness?: number;
  /** For proxies, private certificate authorities and tests. */
  readonly fetch?: FetchFunction;
  /** Milliseconds to wait for the issuer; 5,000 by default. */
  readonly timeout?: number;
}

const OPTIONS: OptionNames<JwtVerifierOptions> = {
  ...{ issuer: true, jwks: true, jwksUri: true, isLive: true, algorithms: true, keys: true },
  ...{ freshness: true, fetch: true, timeout: true, allowMultipleAudiences: true, mapClaims: true },
};
const KEYS: OptionNames<KeyLimits> = { maxAge: true, staleIfError: true, cooldown: true, retryAfter: true };

const DEFAULT_ALGORITHMS: readonly JwsAlgorithm[] = ['ES256', 'EdDSA', 'Ed25519', 'RS256', 'PS256'];

/**
 * Creates a verifier of JWT access tokens.
 * @throws ConfigurationError with every issue of the options, or if a fixed key set holds no usable key
 * @see RFC 9068 §4, RFC 8725
 */
export function jwtVerifier(options: JwtVerifierOptions): TokenVerifier {
  validateOptions(options);
  const { issuer, isLive, freshness = 60 } = options;
  const issuers = Object.freeze([issuer]);
  const algorithms: ReadonlySet<string> = new Set(options.algorithms ?? DEFAULT_ALGORITHMS);
  const keys = createKeys(options);
  const otherTypes = options[dangerouslyAcceptTypes] ?? [];

  // Cheap checks first, the signature last: junk is rejected before any cryptography.
  function verify(token: string, expectation: TokenExpectation): Promise<VerificationResult> {
    const { now, clockTolerance } = expectation;
    const compact = parseCompactJws(token, otherTypes);
    const { alg: algorithm, kid: keyId } = compact.header;
    if (!algorithms.has(algorithm)) throw tokenRejected('alg is not allowed');
    const { claims, checked } = checkClaims(compact.payload, issuers, expectation, options);
    const holder = holderOf(claims);
    const key = keys.find({ algorithm, keyId, issuedUntil: checked.iat + clockTolerance, holder }, now);
    const check = async (found: PublicKey): Promise<VerificationResult> => {
      if (!(await found.verify(token, compact.signingInput, compact.signature)))
        throw tokenRejected('signature is wrong');
      keys.recordVerified?.(holder);
      return { claims, freshUntil: Math.min(checked.exp, now + freshness), keyId: found.id };
    };
    return key instanceof Promise ? key.then(check) : check(key);
  }

  return { issuers, verify, ...(isLive !== undefined && { isLive }) };
}

/** The client of a token, and its grant, which other clients cannot guess. */
function holderOf({ client_id: clientId, grant_id: grantId }: VerifiedClaims): string | undefined {
  return typeof grantId === 'string' ? JSON.stringify([clientId, grantId]) : undefined;
}

function validateOptions(options: JwtVerifierOptions): void {
  const { issuer, jwks, jwksUri, algorithms, freshness, timeout, keys } = options;
  const issues: string[] = [
    ...unknownOptionIssues(options, OPTIONS),
    ...unknownOptionIssues(keys, KEYS, 'keys.'),
    ...numberIssues({ freshness, timeout, ...named('keys', keys) }),
  ];
  const wrong = issuerError(issuer);
  if (wrong !== null) issues.push(`issuer ${wrong}`);
  if (jwks !== undefined && jwksUri !== undefined) issues.push('jwks and jwksUri are mutually exclusive');
  if (jwksUri !== undefined && !isSecureEndpoint(jwksUri))
    issues.push('jwksUri must be an absolute https URL');
  if (algorithms?.length === 0) issues.push('algorithms must name at least one');
  for (const algorithm of algorithms ?? []) {
    if (!Object.hasOwn(JWS_ALGORITHMS, algorithm))
      issues.push(`algorithms: ${String(algorithm)} cannot be allowed`);
  }
  if (issues.length > 0) throw new ConfigurationError(issues);
}

/** Prefixes the member names with the name of their object. */
function named(outer: string, members: object = {}): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [`${outer}.${name}`, value]));
}

function createKeys({
  issuer,
  jwks,
  jwksUri,
  algorithms = DEFAULT_ALGORITHMS,
  ...options
}: JwtVerifierOptions): KeySource {
  if (typeof jwks === 'object') {
    const fixed = readKeySet(jwks, algorithms);
    if (fixed === null) throw new ConfigurationError(['jwks holds no public key for the algorithms allowed']);
    return createFixedKeys(fixed);
  }
  const isInProcess = jwks !== undefined;
  const limits = { ...(isInProcess ? inProcessKeyLimits : defaultKeyLimits), ...options.keys };
  const remote = fetchLimits(options);
  const load = async (): Promise<KeySet> => {
    if (jwks !== undefined) return jwks();
    return (await fetchJson(
      jwksUri ?? (await discoverEndpoint(issuer, 'jwks_uri', remote)),
      remote,
    )) as KeySet;
  };
  // Discovery may take two requests before that for the keys.
  const timeout = remote.timeout * (jwks === undefined && jwksUri === undefined ? 3 : 1);
  return createKeySource({
    load: async () => usableKeys(await load(), algorithms),
    limits,
    timeout,
    isInProcess,
  });
}

/** Reads the usable keys. @throws Error if none is left */
function usableKeys(set: KeySet, algorithms: readonly JwsAlgorithm[]): PublicKeys {
  const keys = readKeySet(set, algorithms);
  if (keys === null) throw new Error('the key set holds no public key for the algorithms allowed');
  return keys;
}
