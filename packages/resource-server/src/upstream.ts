/** Tokens of third parties for a protected server: asked of its authorization server, kept for a while, given to nobody else. */
import {
  issuerError,
  type OAuthError,
  type OptionNames,
  unknownOptionIssues,
} from '@portcullis/protocol/protected-resource';
import { ConfigurationError } from './configuration-error.ts';
import { numberIssues } from './numbers.ts';
import type { Principal, VerifiedClaims } from './principal.ts';
import { type Standing, standingOf } from './standing.ts';
import { defaultRemoteLimits, type Fetch, isTrustworthy } from './tokens/remote.ts';
import { type Credentials, createProof } from './upstream/authentication.ts';
import { createExchange } from './upstream/exchange.ts';
import { remembering } from './upstream/remembering.ts';
import { type UpstreamToken, type UpstreamWant, understandRefusal } from './upstream/upstream-token.ts';

export type { UpstreamToken, UpstreamWant } from './upstream/upstream-token.ts';

/** Where a protected server gets the tokens with which it acts at third parties. */
export interface UpstreamTokens {
  /**
   * The third party's token of the person whose request is served, as far as the grant behind it reaches. The server MUST NOT
   * pass on the token that it received from the client: this one takes its place.
   * @param principal from a guard
   * @throws OAuthError `invalid_token` when the client has to sign its person in again, `access_denied` when the grant does not
   * reach there, `temporarily_unavailable` while nobody can say, `server_error` when this server may not ask
   * @throws TypeError for a principal that no guard has made
   * @see seed 5.2(6)
   */
  tokenFor(principal: Principal, want?: UpstreamWant): Promise<UpstreamToken>;
  /** Keeps nothing for this principal any more: the third party has refused what was kept. */
  forget(principal: Principal): void;
}

/** How the authorization server is asked, and as whom: a client that the resource names in `tokenExchangeClients` there. */
export type UpstreamOptions = Credentials & {
  readonly issuer: string;
  readonly clientId: string;
  /** Its token endpoint; found in the issuer's metadata when left out. */
  readonly tokenEndpoint?: string;
  /** Seconds for which a token is used again without asking: the bound after which ended access ends here; 60 when left out. */
  readonly freshness?: number;
  readonly fetch?: Fetch;
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
export function createUpstreamTokens(options: UpstreamOptions): UpstreamTokens {
  judge(options);
  const { issuer, tokenEndpoint = null, freshness = 60 } = options;
  const clock = options.clock ?? (() => Math.floor(Date.now() / 1000));
  const remote = {
    fetch: options.fetch ?? defaultRemoteLimits.fetch,
    timeout: options.timeout ?? defaultRemoteLimits.timeout,
  };
  const prove = createProof(options, clock);
  const exchange = createExchange({ issuer, endpoint: tokenEndpoint, remote, prove, clock });
  const memory = remembering(exchange, freshness, clock);
  return {
    tokenFor: async (principal, want = {}) => {
      const standing = provenStanding(principal);
      // A token MUST go to nobody but the server that issued it.
      if (principal.issuer !== issuer) throw understandRefusal('issued by another server');
      return memory.tokenFor(standing, want);
    },
    forget: (principal) => memory.forget(provenStanding(principal)),
  };
}

/** An authorization server in this process. */
interface LocalServer {
  upstreamToken(claims: VerifiedClaims, want?: UpstreamWant): Promise<UpstreamToken>;
}

/** Gets tokens from an authorization server in this process, which knows at each call whether they still stand. */
export function localUpstreamTokens(server: LocalServer): UpstreamTokens {
  return {
    tokenFor: async (principal, want) => {
      const { claims } = provenStanding(principal);
      return server.upstreamToken(claims, want).catch((error: unknown) => {
        if (!isOAuthError(error)) throw error;
        throw understandRefusal(error.code, error.retryAfter, error);
      });
    },
    forget: (principal) => void provenStanding(principal),
  };
}

/** Whoever makes up a principal gets no token of anybody's. */
function provenStanding(principal: Principal): Standing {
  const standing = standingOf(principal);
  if (standing !== undefined) return standing;
  throw new TypeError('This principal is not from a guard: hand on the one that you were given.');
}

function isOAuthError(error: unknown): error is OAuthError {
  return error instanceof Error && error.name === 'OAuthError';
}

function judge(given: UpstreamOptions): void {
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
  if (tokenEndpoint !== undefined && !isTrustworthy(tokenEndpoint)) {
    issues.push('tokenEndpoint must be an absolute https URL');
  }
  if (issues.length > 0) throw new ConfigurationError(issues);
}
