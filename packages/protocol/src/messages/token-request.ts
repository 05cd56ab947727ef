/** The parameters of each grant type at the token endpoint: parsed by the server, built by the client. */
import { OAuthError } from '../errors.ts';
import type { Parameters } from '../parsing/parameters.ts';
import { isCodeVerifier } from '../pkce.ts';
import { readRequestedScopes, type Scopes } from '../scopes.ts';
import type { DEVICE_CODE } from './device-authorization.ts';
import type { JWT_BEARER } from './jwt-bearer.ts';
import type { TOKEN_EXCHANGE } from './token-exchange.ts';

/** Grant types by their registered names. */
export type GrantType =
  | 'authorization_code'
  | 'refresh_token'
  | 'client_credentials'
  | typeof TOKEN_EXCHANGE
  | typeof JWT_BEARER
  | typeof DEVICE_CODE;

/** Parameters that all grant types share. */
interface ResourceParameters {
  /** Every `resource`, as sent. */
  readonly resources: readonly string[];
}

/** A request of the authorization code grant. @see RFC 6749 §4.1.3, RFC 7636 §4.5 */
export interface AuthorizationCodeRequest extends ResourceParameters {
  readonly code: string;
  readonly codeVerifier: string;
  /** OAuth 2.0 clients send it, OAuth 2.1 clients omit it. */
  readonly redirectUri: string | undefined;
}

/** A request of the refresh token grant. @see RFC 6749 §6 */
export interface RefreshRequest extends ResourceParameters {
  readonly refreshToken: string;
  /** `null`: all granted scopes. */
  readonly scopes: Scopes | null;
}

/** A request of the client credentials grant. @see RFC 6749 §4.4.2 */
export interface ClientCredentialsRequest extends ResourceParameters {
  /** `null`: the server's default for this client. */
  readonly scopes: Scopes | null;
}

/**
 * Parses a request of the authorization code grant.
 * @throws OAuthError `invalid_request` if code or verifier is missing, `invalid_grant` if the verifier is malformed
 * @see RFC 6749 §4.1.3, RFC 7636 §4.5
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

/**
 * Parses a request of the refresh token grant. @throws OAuthError `invalid_request` or `invalid_scope` @see RFC 6749
 * §6
 */
export function readRefreshRequest(parameters: Parameters): RefreshRequest {
  return {
    refreshToken: parameters.required('refresh_token'),
    scopes: readRequestedScopes(parameters.one('scope')),
    resources: parameters.all('resource'),
  };
}

/** Parses a request of the client credentials grant. @throws OAuthError `invalid_scope` @see RFC 6749 §4.4.2 */
export function readClientCredentialsRequest(parameters: Parameters): ClientCredentialsRequest {
  return { scopes: readRequestedScopes(parameters.one('scope')), resources: parameters.all('resource') };
}

/**
 * Builds the form that redeems an authorization code. `resource` is omitted if `null`, as in Profile A. @see RFC 6749
 * §4.1.3
 */
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

/** Builds the form of a refresh request. @see RFC 6749 §6 */
export function refreshForm(request: {
  readonly refreshToken: string;
  readonly resource: string | null;
  readonly scopes?: Scopes;
}): URLSearchParams {
  const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: request.refreshToken });
  return addScopeAndResource(form, request);
}

/** Builds the form of a client credentials request. @see RFC 6749 §4.4.2 */
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
