/** Token exchange (RFC 8693) of one access token for another: parsed by the server, built by a protected resource. */
import { OAuthError } from '../errors.ts';
import type { Parameters } from '../parsing/parameters.ts';
import { formatScopes, readRequestedScopes, type Scopes } from '../scopes.ts';
import type { TokenResponse } from './token-response.ts';

/** The grant type. @see RFC 8693 §2.1 */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** Token types. @see RFC 8693 §3, draft-ietf-oauth-identity-assertion-authz-grant §4.3 */
export const TOKEN_TYPES = {
  accessToken: 'urn:ietf:params:oauth:token-type:access_token',
  refreshToken: 'urn:ietf:params:oauth:token-type:refresh_token',
  idToken: 'urn:ietf:params:oauth:token-type:id_token',
  idJag: 'urn:ietf:params:oauth:token-type:id-jag',
} as const;

/** The type of the tokens exchanged. */
const { accessToken: ACCESS_TOKEN } = TOKEN_TYPES;

/** A request to exchange the subject's access token for one with another audience. @see RFC 8693 §2.1 */
export interface TokenExchangeRequest {
  /** The access token of the subject on whose behalf the new one is used. */
  readonly subjectToken: string;
  /** The requested audiences: every `audience`, then every `resource`. */
  readonly targets: readonly string[];
  /** `null`: all scopes that may be granted. */
  readonly scopes: Scopes | null;
}

/**
 * Parses a token exchange request. Delegation (an actor token) is not supported.
 * @throws OAuthError `invalid_request` for other token types and for actor tokens, `invalid_scope` for malformed
 * scopes
 * @see RFC 8693 §2.1
 */
export function readTokenExchangeRequest(parameters: Parameters): TokenExchangeRequest {
  const subjectToken = parameters.required('subject_token');
  if (parameters.required('subject_token_type') !== ACCESS_TOKEN) {
    throw new OAuthError('invalid_request', `The subject_token_type must be ${ACCESS_TOKEN}.`);
  }
  const requested = parameters.one('requested_token_type') ?? ACCESS_TOKEN;
  if (requested !== ACCESS_TOKEN) {
    throw new OAuthError('invalid_request', `The requested_token_type must be ${ACCESS_TOKEN}, or omitted.`);
  }
  if ([...parameters.all('actor_token'), ...parameters.all('actor_token_type')].length > 0) {
    throw new OAuthError('invalid_request', 'Delegation is not supported: omit actor_token.');
  }
  return {
    subjectToken,
    targets: [...parameters.all('audience'), ...parameters.all('resource')],
    scopes: readRequestedScopes(parameters.one('scope')),
  };
}

/** Builds the form of a token exchange. @see RFC 8693 §2.1 */
export function tokenExchangeForm(request: {
  readonly subjectToken: string;
  /** Omitted if `null`: the server has only one. */
  readonly audience: string | null;
  readonly scopes?: Scopes;
}): URLSearchParams {
  const form = new URLSearchParams({
    grant_type: TOKEN_EXCHANGE,
    subject_token: request.subjectToken,
    subject_token_type: ACCESS_TOKEN,
    requested_token_type: ACCESS_TOKEN,
  });
  if (request.audience !== null) form.set('audience', request.audience);
  if (request.scopes !== undefined && request.scopes.length > 0)
    form.set('scope', formatScopes(request.scopes));
  return form;
}

/**
 * The response. It contains no refresh token: a client that needs another token exchanges again. @see RFC 8693 §2.2.1
 */
export interface TokenExchangeResponse extends Omit<TokenResponse, 'refresh_token'> {
  readonly issued_token_type: typeof ACCESS_TOKEN;
}

/** Builds the response for an issued access token. */
export function tokenExchangeResponse(token: Omit<TokenResponse, 'refresh_token'>): TokenExchangeResponse {
  return { ...token, issued_token_type: ACCESS_TOKEN };
}
