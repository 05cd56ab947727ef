/** The token of a third party for the person whose request is served: a separate one, and never the one that the client sent. */

import {
  OAuthError,
  type OAuthErrorOptions,
  type Scopes,
  temporarilyUnavailable,
} from '@portcullis/protocol/protected-resource';

/** A third party's token, as it gave it to the authorization server. */
export interface UpstreamAccessToken {
  /** A secret of the third party's: for its interface, and for nobody else. */
  readonly accessToken: string;
  /** As the third party says; mostly `Bearer`. */
  readonly tokenType: string;
  /** Epoch seconds; `null` when the third party did not say. */
  readonly expiresAt: number | null;
  /** What it is good for, in the third party's words. */
  readonly scopes: Scopes;
}

/** What is asked for. */
export interface UpstreamTokenRequest {
  /** The identifier of the third party; whichever the grant rests on, when left out. */
  readonly identityProvider?: string;
  /** Scopes of the third party that the token must have. */
  readonly scopes?: Scopes;
}

/**
 * What an authorization server's refusal means for the request that is served. Thrown behind a guard, it becomes the right
 * answer: a challenge when the client has to sign its person in again, and never one that another token would not change.
 * @param code as the authorization server said it
 */
export function tokenExchangeError(code: string, retryAfter?: number, cause?: unknown): OAuthError {
  const options: OAuthErrorOptions = { reason: `no third-party token: ${code}`, cause };
  switch (code) {
    case 'invalid_request':
    case 'invalid_grant':
      return new OAuthError('invalid_token', 'The access token is no longer valid.', options);
    case 'invalid_target':
      return new OAuthError(
        'access_denied',
        'This needs an account at a third party: sign in with it.',
        options,
      );
    case 'invalid_scope':
      return new OAuthError('access_denied', 'The third party was not asked to allow that.', options);
    case 'temporarily_unavailable':
      return temporarilyUnavailable(
        'the third party or its authorization server cannot answer',
        retryAfter,
        cause,
      );
    default:
      return new OAuthError('server_error', 'This server is not set up to act at the third party.', options);
  }
}
