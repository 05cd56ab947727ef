/** Token exchange: an access token goes in, a token for somewhere else comes out. Read by the server, written by a protected resource. */

import { OAuthError } from './errors.ts';
import type { ParseResult } from './json-document.ts';
import type { Parameters } from './parameters.ts';
import { formatScopes, readRequestedScopes, type Scopes } from './scopes.ts';
import { readTokenResponse, type TokenResponse } from './token-response.ts';

/** The grant type. @see RFC 8693 §2.1 */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** The type of tokens that go in and come out. @see RFC 8693 §3 */
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

/** A request for the token of another place, on behalf of the subject of one that is at hand. @see RFC 8693 §2.1 */
export interface TokenExchangeRequest {
  /** On whose behalf: an access token. */
  readonly subjectToken: string;
  /** By what names the place is called that the new token is for: every `audience`, then every `resource`. */
  readonly targets: readonly string[];
  /** `null`: all that may be had. */
  readonly scopes: Scopes | null;
}

/**
 * Reads a request that wants an access token for an access token, of nobody but its subject.
 * @throws OAuthError `invalid_request` for other types of token and for actors, `invalid_scope`
 * @see RFC 8693 §2.1
 */
export function readTokenExchangeRequest(parameters: Parameters): TokenExchangeRequest {
  const subjectToken = parameters.required('subject_token');
  if (parameters.required('subject_token_type') !== ACCESS_TOKEN) {
    throw new OAuthError('invalid_request', `The subject_token_type must be ${ACCESS_TOKEN}.`);
  }
  const requested = parameters.one('requested_token_type') ?? ACCESS_TOKEN;
  if (requested !== ACCESS_TOKEN) {
    throw new OAuthError('invalid_request', `The requested_token_type must be ${ACCESS_TOKEN}, or left out.`);
  }
  if ([...parameters.all('actor_token'), ...parameters.all('actor_token_type')].length > 0) {
    throw new OAuthError('invalid_request', 'Nobody can act for somebody here: leave actor_token out.');
  }
  return {
    subjectToken,
    targets: [...parameters.all('audience'), ...parameters.all('resource')],
    scopes: readRequestedScopes(parameters.one('scope')),
  };
}

/** The form that exchanges an access token. */
export function tokenExchangeForm(request: {
  readonly subjectToken: string;
  /** Left out when `null`: the one place there is. */
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

/** The answer. There is no refresh token: whoever needs a token again asks again. @see RFC 8693 §2.2.1 */
export interface TokenExchangeResponse extends Omit<TokenResponse, 'refresh_token'> {
  readonly issued_token_type: typeof ACCESS_TOKEN;
}

/** Makes the answer of an issued access token. */
export function tokenExchangeResponse(token: Omit<TokenResponse, 'refresh_token'>): TokenExchangeResponse {
  return { ...token, issued_token_type: ACCESS_TOKEN };
}

/** Reads an answer; unknown members are ignored. */
export function readTokenExchangeResponse(json: unknown): ParseResult<TokenExchangeResponse> {
  const reading = readTokenResponse(json);
  if ('issues' in reading) return reading;
  // It MUST be there, and nothing else was asked for.
  if ((json as { readonly issued_token_type?: unknown }).issued_token_type !== ACCESS_TOKEN) {
    return { issues: [`issued_token_type: must be ${ACCESS_TOKEN}`] };
  }
  const { refresh_token: _unwanted, ...token } = reading.document;
  return { document: tokenExchangeResponse(token) };
}
