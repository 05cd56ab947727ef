/** The parameters of each grant at the token endpoint: read by the server, written by the client. */
import { OAuthError } from './errors.ts';
import type { Parameters } from './parameters.ts';
import { isCodeVerifier } from './pkce.ts';
import { readRequestedScopes, type Scopes } from './scopes.ts';
import type { TOKEN_EXCHANGE } from './token-exchange.ts';

/** Grant types by the names of the wire. */
export type GrantType = 'authorization_code' | 'refresh_token' | 'client_credentials' | typeof TOKEN_EXCHANGE;

/** What every grant may carry. */
interface ResourceParameters {
  /** Every `resource`, as sent. */
  readonly resources: readonly string[];
}

/** A request for tokens by an authorization code. @see OAuth 2.1 draft 13 §4.1.3 */
export interface AuthorizationCodeRequest extends ResourceParameters {
  readonly code: string;
  readonly codeVerifier: string;
  /** OAuth 2.0 clients repeat it, OAuth 2.1 clients leave it out. */
  readonly redirectUri: string | undefined;
}

/** A request for tokens by a refresh token. @see OAuth 2.1 draft 13 §4.3.1 */
export interface RefreshRequest extends ResourceParameters {
  readonly refreshToken: string;
  /** `null`: all that was granted. */
  readonly scopes: Scopes | null;
}

/** A request of a client for a token of its own. @see OAuth 2.1 draft 13 §4.2.1 */
export interface ClientCredentialsRequest extends ResourceParameters {
  /** `null`: the server's default for this client. */
  readonly scopes: Scopes | null;
}

/**
 * @throws OAuthError `invalid_request` when code or verifier is missing, `invalid_grant` when the verifier cannot be one.
 * @see OAuth 2.1 draft 13 §4.1.3
 */
export function readAuthorizationCodeRequest(parameters: Parameters): AuthorizationCodeRequest {
  const code = parameters.required('code');
  const codeVerifier = parameters.required('code_verifier');
  if (!isCodeVerifier(codeVerifier)) {
    throw new OAuthError('invalid_grant', 'The code_verifier must be 43 to 128 unreserved characters.');
  }
  return {
    code,
    codeVerifier,
    redirectUri: parameters.one('redirect_uri'),
    resources: parameters.all('resource'),
  };
}

/** @see OAuth 2.1 draft 13 §4.3.1 */
export function readRefreshRequest(parameters: Parameters): RefreshRequest {
  return {
    refreshToken: parameters.required('refresh_token'),
    scopes: readRequestedScopes(parameters.one('scope')),
    resources: parameters.all('resource'),
  };
}

/** @see OAuth 2.1 draft 13 §4.2.1 */
export function readClientCredentialsRequest(parameters: Parameters): ClientCredentialsRequest {
  return { scopes: readRequestedScopes(parameters.one('scope')), resources: parameters.all('resource') };
}

/** The form that redeems a code. `resource` is left out when `null`, as Profile A does. */
export function authorizationCodeForm(request: {
  readonly code: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
  readonly resource: string | null;
}): URLSearchParams {
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code: request.code,
    code_verifier: request.codeVerifier,
    redirect_uri: request.redirectUri,
  });
  if (request.resource !== null) form.set('resource', request.resource);
  return form;
}

/** The form that refreshes. */
export function refreshForm(request: {
  readonly refreshToken: string;
  readonly resource: string | null;
  readonly scopes?: Scopes;
}): URLSearchParams {
  const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: request.refreshToken });
  return addScopeAndResource(form, request);
}

/** The form of an application that acts for itself. */
export function clientCredentialsForm(request: {
  readonly resource: string | null;
  readonly scopes?: Scopes;
}): URLSearchParams {
  return addScopeAndResource(new URLSearchParams({ grant_type: 'client_credentials' }), request);
}

function addScopeAndResource(
  form: URLSearchParams,
  request: { readonly resource: string | null; readonly scopes?: Scopes },
): URLSearchParams {
  if (request.scopes !== undefined && request.scopes.length > 0) form.set('scope', request.scopes.join(' '));
  if (request.resource !== null) form.set('resource', request.resource);
  return form;
}
