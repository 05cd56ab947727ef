/** The authorization request: judged by the authorization server, written by the client. */
import { OAuthError } from './errors.ts';
import type { Parameters } from './parameters.ts';
import { CODE_CHALLENGE_METHOD, isCodeChallenge } from './pkce.ts';
import { readRequestedScopes, type Scopes } from './scopes.ts';
import { isSecureUrl, readWebUrl } from './web-url.ts';

/** What a well-formed request asks for. Client and redirect URI are proven before and stand beside it. */
export interface AuthorizationRequest {
  /** `null` when the request names none: the server's default applies. */
  readonly scopes: Scopes | null;
  readonly state: string | undefined;
  readonly codeChallenge: string;
  /** Every `resource`, as sent. */
  readonly resources: readonly string[];
  readonly prompt: ReadonlySet<Prompt>;
}

/** What a client may ask of the pages; a request may name several. @see OpenID Connect Core 1.0 §3.1.2.1 */
export type Prompt = 'none' | 'login' | 'consent' | 'select_account';

const PROMPTS: ReadonlySet<string> = new Set(['none', 'login', 'consent', 'select_account']);

/** Response types and modes that the authorization server speaks: the tables that its metadata is made from. */
export const RESPONSE_TYPES: readonly string[] = ['code'];
export const RESPONSE_MODES: readonly string[] = ['query'];

const LONGEST_STATE = 4096;

/**
 * Judges the parameters of a request whose client and redirect URI are proven.
 * @throws OAuthError `invalid_request`, `unsupported_response_type` or `invalid_scope`; it travels by redirect.
 * @see OAuth 2.1 draft 13 §4.1.1
 */
export function checkAuthorizationRequest(parameters: Parameters): AuthorizationRequest {
  checkResponse(parameters);
  checkUnsupported(parameters);
  const state = parameters.one('state');
  if (state !== undefined && state.length > LONGEST_STATE) {
    throw new OAuthError('invalid_request', `The state must be at most ${LONGEST_STATE} characters long.`);
  }
  return {
    codeChallenge: checkChallenge(parameters),
    scopes: readRequestedScopes(parameters.one('scope')),
    state,
    resources: parameters.all('resource'),
    prompt: checkPrompt(parameters),
  };
}

function checkResponse(parameters: Parameters): void {
  const type = parameters.required('response_type');
  if (!RESPONSE_TYPES.includes(type)) {
    throw new OAuthError('unsupported_response_type', 'The response_type must be code.');
  }
  const mode = parameters.one('response_mode');
  if (mode !== undefined && !RESPONSE_MODES.includes(mode)) {
    throw new OAuthError('invalid_request', 'The response_mode must be query.');
  }
}

/** A request object would hide parameters from these checks. */
function checkUnsupported(parameters: Parameters): void {
  for (const name of ['request', 'request_uri']) {
    if (parameters.one(name) !== undefined) {
      throw new OAuthError('invalid_request', `The parameter ${name} is not supported.`);
    }
  }
}

/** PKCE is REQUIRED for all clients; a method that is left out would mean plain. @see seed 5.3(1), RFC 7636 §4.3 */
function checkChallenge(parameters: Parameters): string {
  const challenge = parameters.one('code_challenge');
  if (challenge === undefined) {
    throw new OAuthError(
      'invalid_request',
      'PKCE is required: send code_challenge with code_challenge_method=S256.',
    );
  }
  if (parameters.one('code_challenge_method') !== CODE_CHALLENGE_METHOD) {
    throw new OAuthError('invalid_request', 'The code_challenge_method must be S256.');
  }
  if (!isCodeChallenge(challenge)) {
    throw new OAuthError(
      'invalid_request',
      'The code_challenge must be 32 bytes in base64url: 43 characters.',
    );
  }
  return challenge;
}

function checkPrompt(parameters: Parameters): ReadonlySet<Prompt> {
  const values = (parameters.one('prompt') ?? '').split(' ').filter((value) => value !== '');
  if (values.includes('none') && values.length > 1) {
    throw new OAuthError('invalid_request', 'The prompt none cannot be combined with another.');
  }
  // Values that we do not know ask for nothing that we could do.
  return new Set(values.filter((value): value is Prompt => PROMPTS.has(value)));
}

/** What a client puts into an authorization request. */
export interface AuthorizationRequestParameters {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly state: string;
  /** Left out of the request when `null`, as Profile A does. */
  readonly resource: string | null;
  /** The parameter is left out when there are none, never sent empty. */
  readonly scopes: Scopes;
  readonly prompt?: string;
}

/**
 * The URL that the browser is sent to. Parameters that the endpoint's URL already has are kept, unless the request has
 * the same.
 * @throws TypeError when the endpoint is not https (http for loopback hosts): nothing else may be opened.
 */
export function authorizationRequestUrl(endpoint: string, request: AuthorizationRequestParameters): string {
  const url = readWebUrl(endpoint);
  if (url === null || !isSecureUrl(url) || endpoint.includes('#')) {
    throw new TypeError('The authorization endpoint must be an https URL without a fragment.');
  }
  const query = url.searchParams;
  query.set('response_type', 'code');
  query.set('client_id', request.clientId);
  query.set('redirect_uri', request.redirectUri);
  query.set('code_challenge', request.codeChallenge);
  query.set('code_challenge_method', CODE_CHALLENGE_METHOD);
  query.set('state', request.state);
  if (request.scopes.length > 0) query.set('scope', request.scopes.join(' '));
  if (request.resource !== null) query.set('resource', request.resource);
  if (request.prompt !== undefined) query.set('prompt', request.prompt);
  return url.href;
}
