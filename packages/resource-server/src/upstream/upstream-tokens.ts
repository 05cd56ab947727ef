/** Tokens of third parties for a protected server: asked of its authorization server, kept for a while, given to nobody else. */
import {
  ConfigurationError,
  issuerError,
  type OAuthError,
  type OptionNames,
  unknownOptionIssues,
} from '@portcullis/protocol/protected-resource';
import { type VerifiedToken, verifiedTokenOf } from '../guard/verified-token.ts';
import { numberIssues } from '../number-issues.ts';
import type { Principal, VerifiedClaims } from '../principal.ts';
import { defaultFetchLimits, type FetchFunction, isSecureEndpoint } from '../verifiers/fetch-json.ts';
import { createClientAuthentication, type ExchangeCredentials } from './client-authentication.ts';
import { createExchangeCache } from './exchange-cache.ts';
import { createTokenExchange } from './token-exchange.ts';
import { tokenExchangeError, type UpstreamAccessToken, type UpstreamTokenRequest } from './upstream-token.ts';

export type { UpstreamAccessToken, UpstreamTokenRequest } from './upstream-token.ts';

/** Where a protected server gets the tokens with which it acts at third parties. */
export interface UpstreamTokenSource {
  /**
   * The third party's token of the person whose request is served, as far as the grant behind it reaches. The server MUST NOT
   * pass on the token that it received from the client: this one takes its place.
   * @param principal from a guard
   * @throws OAuthError `invalid_token` when the client has to sign its person in again, `access_denied` when the grant does not
   * reach there, `temporarily_unavailable` while nobody can say, `server_error` when this server may not ask
   * @throws TypeError for a principal that no guard has made
   * @see seed 5.2(6)
   */
  tokenFor(principal: Principal, want?: UpstreamTokenRequest): Promise<UpstreamAccessToken>;
  /** Keeps nothing for this principal any more: the third party has refused what was kept. */
  forget(principal: Principal): void;
}

/** How the authorization server is asked, and as whom: a client that the resource names in `tokenExchangeClients` there. */
export type UpstreamOptions = ExchangeCredentials & {
  readonly issuer: string;
  readonly clientId: string;
  /** Its token endpoint; found in the issuer's metadata when left out. */
  readonly tokenEndpoint?: string;
  /** Seconds for which a token is used again without asking: the bound after which ended access ends here; 60 when left out. */
  readonly freshness?: number;
  readonly fetch?: FetchFunction;
  /** Milliseconds that the authorization server may take to answer; 5,000 when left out. */
  readonly timeout?: number;
  /** Epoch seconds. */
  readonly clock?: () => number;
};

const OPTIONS: OptionNames<UpstreamOptions> = {
  ...{ issuer: true, clientId: true, clientSecret: true, clientKey: true, tokenEndpoint: true },
  ...{ freshness: true, fetch: true, timeout: true, clock: true },
};

/**
 * Gets tokens from an authorization server elsewhere, by token exchange.
 * @throws ConfigurationError with every fault of the options.
 * @see RFC 8693
 */
export function createUpstreamTokens(options: UpstreamOptions): UpstreamTokenSource {
  validateOptions(options);
  const { issuer, tokenEndpoint = null, freshness = 60 } = options;
  const clock = options.clock ?? (() => Math.floor(Date.now() / 1000));
  const remote = {
    fetch: options.fetch ?? defaultFetchLimits.fetch,
    timeout: options.timeout ?? defaultFetchLimits.timeout,
  };
  const prove = createClientAuthentication(options, clock);
  const exchange = createTokenExchange({ issuer, endpoint: tokenEndpoint, remote, prove, clock });
  const cache = createExchangeCache(exchange, freshness, clock);
  return {
    tokenFor: async (principal, want = {}) => {
      const verifiedToken = requireVerifiedToken(principal);
      // A token MUST go to nobody but the server that issued it.
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

/** Gets tokens from an authorization server in this process, which knows at each call whether they still stand. */
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

/** Whoever makes up a principal gets no token of anybody's. */
function requireVerifiedToken(principal: Principal): VerifiedToken {
  const verifiedToken = verifiedTokenOf(principal);
  if (verifiedToken !== undefined) return verifiedToken;
  throw new TypeError('This principal is not from a guard: hand on the one that you were given.');
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
    issues.push('clientSecret or clientKey must be there, and not both');
  }
  if (clientKey !== undefined && (clientKey.d === undefined || clientKey.alg === undefined)) {
    issues.push('clientKey must be a private key with alg');
  }
  if (tokenEndpoint !== undefined && !isSecureEndpoint(tokenEndpoint)) {
    issues.push('tokenEndpoint must be an absolute https URL');
  }
  if (issues.length > 0) throw new ConfigurationError(issues);
}
