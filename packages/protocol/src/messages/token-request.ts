/** The parameters of each grant type at the token endpoint: parsed by the server, built by the client. */
import { OAuthError } from '../errors.ts';
import type { Parameters } from '../parsing/parameters.ts';
import { isCodeVerifier } from '../pkce.ts';
import { formatScopes, readRequestedScopes, type Scopes } from '../scopes.ts';
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

/** The access that a request of any grant type may name. */
export interface RequestedAccess {
  /** Every `resource`, as sent. */
  readonly resources: readonly string[];
  /** `null`: all that may be granted, or the server's default. */
  readonly scopes: Scopes | null;
}

/** A request of the authorization code grant. @see RFC 6749 §4.1.3, RFC 7636 §4.5 */
interface AuthorizationCodeRequest extends Pick<RequestedAccess, 'resources'> {
  readonly code: string;
  readonly codeVerifier: string;
  /** OAuth 2.0 clients send it, OAuth 2.1 clients omit it. */
  readonly redirectUri: string | undefined;
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

/** Parses `scope` and `resource`. @throws OAuthError `invalid_scope` @see RFC 6749 §3.3, RFC 8707 §2 */
export function readRequestedAccess(parameters: Parameters): RequestedAccess {
  return { scopes: readRequestedScopes(parameters.one('scope')), resources: parameters.all('resource') };
}

/**
 * Builds the form of a grant. `scope` is omitted if there are none, and `resource` if it is `null`, as in Profile A.
 * @param parameters besides these, `grant_type` among them
 * @see RFC 6749 §4.5, RFC 8707 §2
 */
export function grantForm(
  parameters: Readonly<Record<string, string>>,
  { resource, scopes = [] }: { readonly resource: string | null; readonly scopes?: Scopes },
): URLSearchParams {
  const form = new URLSearchParams(parameters);
  if (scopes.length > 0) form.set('scope', formatScopes(scopes));
  if (resource !== null) form.set('resource', resource);
  return form;
}

/** Builds the form that redeems an authorization code. @see RFC 6749 §4.1.3 */
export function authorizationCodeForm(request: {
  readonly code: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
  readonly resource: string | null;
}): URLSearchParams {
  const { code, codeVerifier: code_verifier, redirectUri: redirect_uri } = request;
  return grantForm({ grant_type: 'authorization_code', code, code_verifier, redirect_uri }, request);
}

/** Builds the form of a refresh request. @see RFC 6749 §6 */
export function refreshForm(request: {
  readonly refreshToken: string;
  readonly resource: string | null;
}): URLSearchParams {
  return grantForm({ grant_type: 'refresh_token', refresh_token: request.refreshToken }, request);
}
