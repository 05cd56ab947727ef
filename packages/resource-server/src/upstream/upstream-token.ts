/** A token of an identity provider for the user of a request: a separate token, never the one that the client sent. */
import {
  OAuthError,
  type OAuthErrorOptions,
  type Scopes,
  temporarilyUnavailable,
} from '@portcullis/protocol';

/** An access token of an identity provider. */
export interface UpstreamAccessToken {
  /** A secret, for the provider's API only. */
  readonly accessToken: string;
  /** As the provider says; usually `Bearer`. */
  readonly tokenType: string;
  /** Epoch seconds; `null` if the provider does not say. */
  readonly expiresAt: number | null;
  /** Its scopes, by the provider's names. */
  readonly scopes: Scopes;
}

/** The token that is requested. */
export interface UpstreamTokenRequest {
  /** The identifier of the identity provider; that of the grant by default. */
  readonly identityProvider?: string;
  /** Scopes of the provider that the token must have. */
  readonly scopes?: Scopes;
}

/**
 * Converts an error of the token exchange to the error for the request being served. Thrown behind a guard, it
 * becomes a challenge only if signing in again helps.
 * @param code the error code of the authorization server
 */
export function tokenExchangeError(code: string, retryAfter?: number, cause?: unknown): OAuthError {
  const options: OAuthErrorOptions = { reason: `no provider token: ${code}`, cause };
  switch (code) {
    case 'invalid_request':
    case 'invalid_grant':
      return new OAuthError('invalid_token', 'The access token is no longer valid.', options);
    case 'invalid_target':
      return new OAuthError(
        'access_denied',
        'This requires an account at an identity provider: sign in with it.',
        options,
      );
    case 'invalid_scope':
      return new OAuthError(
        'access_denied',
        'The identity provider has not granted the required scopes.',
        options,
      );
    case 'temporarily_unavailable':
      return temporarilyUnavailable(
        'the identity provider or its authorization server is unavailable',
        retryAfter,
        cause,
      );
    default:
      return new OAuthError(
        'server_error',
        'This server is not configured to act at the identity provider.',
        options,
      );
  }
}
