/** Tokens of identity providers for a protected server, by token exchange at its authorization server. Optional. */
import {
  ConfigurationError,
  issuerError,
  numberIssues,
  type OAuthError,
  type OptionNames,
  unknownOptionIssues,
} from '@portcullis/protocol';
import { requireVerifiedToken } from '../guard/verified-token.ts';
import type { Principal, VerifiedClaims } from '../principal.ts';
import { type FetchFunction, fetchLimits, isSecureEndpoint } from '../verifiers/fetch-json.ts';
import { createClientAuthentication, type ExchangeCredentials } from './client-authentication.ts';
import { createExchangeCache } from './exchange-cache.ts';
import { createTokenExchange } from './token-exchange.ts';
import { tokenExchangeError, type UpstreamAccessToken, type UpstreamTokenRequest } from './upstream-token.ts';

/** The source of tokens with which a protected server acts at identity providers. */
export interface UpstreamTokenSource {
  /**
   * Returns the provider's token for the user of a request, as far as the grant allows. The server MUST NOT pass on
   * the token that it received from the client (token passthrough): this one takes its place.
   * @param principal created by a guard
   * @throws OAuthError `invalid_token` if the user has to sign in again, `access_denied` if the grant does not cover
   * the request, `temporarily_unavailable` during an outage, `server_error` if this server may not exchange tokens
   * @throws TypeError for a principal that was not created by a guard
   * @see RFC 8693, RFC 9700 §4.10, seed 5.2(6)
   */
  tokenFor(principal: Principal, want?: UpstreamTokenRequest): Promise<UpstreamAccessToken>;
  /** Drops what is cached for a principal, after the provider has rejected the token. */
  forget(principal: Principal): void;
}

/**
 * How to authenticate at the authorization server: as a client listed in the `tokenExchangeClients` of the resource
 * there.
 */
export type UpstreamOptions = ExchangeCredentials & {
  readonly issuer: string;
  readonly clientId: string;
  /** Its token endpoint; from the issuer's metadata by default. */
  readonly tokenEndpoint?: string;
  /** Seconds for which a token is reused, the maximum delay after which revocation takes effect; 60 by default. */
  readonly freshness?: number;
  readonly fetch?: FetchFunction;
  /** Milliseconds to wait for the authorization server; 5,000 by default. */
  readonly timeout?: number;
  /** Epoch seconds. */
  readonly clock?: () => number;
};

const OPTIONS: OptionNames<UpstreamOptions> = {
  ...{ issuer: true, clientId: true, clientSecret: true, clientKey: true, tokenEndpoint: true },
  ...{ freshness: true, fetch: true, timeout: true, clock: true },
};

/**
 * Gets tokens from a remote authorization server, by token exchange.
 * @throws ConfigurationError with every issue of the options
 * @see RFC 8693
 */
export function createUpstreamTokens(options: UpstreamOptions): UpstreamTokenSource {
  validateOptions(options);
  const { issuer, tokenEndpoint = null, freshness = 60 } = options;
  const clock = options.clock ?? (() => Math.floor(Date.now() / 1000));
  const prove = createClientAuthentication(options, clock);
  const exchange = createTokenExchange({
    issuer,
    endpoint: tokenEndpoint,
    remote: fetchLimits(options),
    prove,
    clock,
  });
  const cache = createExchangeCache(exchange, freshness, clock);
  return {
    tokenFor: async (principal, want = {}) => {
      const verifiedToken = requireVerifiedToken(principal);
      // A token MUST only be sent to the server that issued it.
      if (principal.issuer !== issuer) throw tokenExchangeError('issued by another server');
      return cache.tokenFor(verifiedToken, want);
    },
    forget: (principal) => cache.forget(requireVerifiedToken(principal)),
  };
}

/** An authorization server in this process. */
interface LocalServer {
  upstreamToken(claims: VerifiedClaims, want?: UpstreamTokenRequest): Promise<UpstreamAccessToken>;
}

/** Gets tokens from an authorization server in this process, which checks at each call whether they are still valid. */
export function localUpstreamTokens(server: LocalServer): UpstreamTokenSource {
  return {
    tokenFor: async (principal, want) => {
      const { claims } = requireVerifiedToken(principal);
      return server.upstreamToken(claims, want).catch((error: unknown) => {
        if (!isOAuthError(error)) throw error;
        throw tokenExchangeError(error.code, error.retryAfter, error);
      });
    },
    forget: (principal) => void requireVerifiedToken(principal),
  };
}

function isOAuthError(error: unknown): error is OAuthError {
  return error instanceof Error && error.name === 'OAuthError';
}

function validateOptions(given: UpstreamOptions): void {
  const { issuer, clientId, clientSecret, clientKey, ...options } = given;
  const { tokenEndpoint, freshness, timeout } = options;
  const issues: string[] = [...unknownOptionIssues(given, OPTIONS), ...numberIssues({ freshness, timeout })];
  const wrong = issuerError(issuer);
  if (wrong !== null) issues.push(`issuer ${wrong}`);
  if (clientId === '') issues.push('clientId is empty');
  if (clientSecret === '') issues.push('clientSecret is empty');
  if ((clientSecret === undefined) === (clientKey === undefined)) {
    issues.push('exactly one of clientSecret and clientKey is required');
  }
  if (clientKey !== undefined && (clientKey.d === undefined || clientKey.alg === undefined)) {
    issues.push('clientKey must be a private key with alg');
  }
  if (tokenEndpoint !== undefined && !isSecureEndpoint(tokenEndpoint)) {
    issues.push('tokenEndpoint must be an absolute https URL');
  }
  if (issues.length > 0) throw new ConfigurationError(issues);
}
