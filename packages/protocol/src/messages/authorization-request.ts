/** The authorization request (RFC 6749 §4.1.1): checked by the authorization server, built by the client. */
import type { AuthenticationRequirement } from '../authentication.ts';
import { OAuthError } from '../errors.ts';
import type { Parameters } from '../parsing/parameters.ts';
import { readSecureUrl } from '../parsing/web-url.ts';
import { CODE_CHALLENGE_METHOD, isCodeChallenge } from '../pkce.ts';
import { readRequestedScopes, type Scopes } from '../scopes.ts';

/** The parameters of a valid request. Client and redirect URI are checked before and are not part of it. */
export interface AuthorizationRequest {
  /** `null` if the request names none: the server's default applies. */
  readonly scopes: Scopes | null;
  readonly state: string | undefined;
  readonly codeChallenge: string;
  /** Every `resource`, as sent. */
  readonly resources: readonly string[];
  readonly prompt: ReadonlySet<Prompt>;
  /** Authentication context classes, any of which suffices; none: any sign-in does. @see OpenID Connect Core 1.0 §3.1.2.1 */
  readonly acrValues: readonly string[];
  /** Seconds since the sign-in, at most; `null`: any. */
  readonly maxAge: number | null;
  /** The thumbprint of the DPoP key that the code is bound to; `null`: any. @see RFC 9449 §10 */
  readonly keyThumbprint: string | null;
  /** Languages for the pages, separated by spaces. @see OpenID Connect Core 1.0 §3.1.2.1 */
  readonly uiLocales: string | undefined;
}

/** The parameters that each member is read from: the compiler asks for those of a new member. */
const PARAMETERS_OF: { readonly [Member in keyof AuthorizationRequest]: readonly string[] } = {
  scopes: ['scope'],
  state: ['state'],
  codeChallenge: ['code_challenge', 'code_challenge_method'],
  resources: ['resource'],
  prompt: ['prompt'],
  acrValues: ['acr_values'],
  maxAge: ['max_age'],
  keyThumbprint: ['dpop_jkt'],
  uiLocales: ['ui_locales'],
};

/** Names of all that is read of an authorization request; any other parameter is ignored. @see RFC 6749 §3.1, RFC 9101 §5, OpenID Connect Core 1.0 §3.1.2.1 */
export const AUTHORIZATION_PARAMETERS: readonly string[] = [
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'request', 'request_uri'],
  ...Object.values(PARAMETERS_OF).flat(),
];

/** Prompts that a request may ask for, several at once. @see OpenID Connect Core 1.0 §3.1.2.1 */
export type Prompt = (typeof PROMPTS)[number];

const PROMPTS = ['none', 'login', 'consent', 'select_account'] as const;

/** Supported response types and modes; the server's metadata is derived from these tables. */
export const RESPONSE_TYPES: readonly string[] = ['code'];
/** Supported response modes. @see OAuth 2.0 Multiple Response Type Encoding Practices §2.1 */
export const RESPONSE_MODES: readonly string[] = ['query'];

const LONGEST_STATE = 4096;

/**
 * Checks the parameters of a request whose client and redirect URI are already checked: PKCE, scope, state, prompt.
 * @throws OAuthError `invalid_request`, `unsupported_response_type`, `invalid_scope` or one of RFC 9101 §7, to be returned by
 * redirect
 * @see RFC 6749 §4.1.1, RFC 7636 §4.3, OAuth 2.1 draft 13 §4.1.1
 */
export function checkAuthorizationRequest(parameters: Parameters): AuthorizationRequest {
  checkUnsupported(parameters);
  checkResponse(parameters);
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
    acrValues: checkAcrValues(parameters),
    maxAge: checkMaxAge(parameters),
    keyThumbprint: checkThumbprint(parameters),
    uiLocales: parameters.one('ui_locales'),
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

/** Rejects what refers to other parameters, and would hide them from these checks: it was resolved before, or cannot be. @see RFC 9101 §7 */
function checkUnsupported(parameters: Parameters): void {
  if (parameters.one('request') !== undefined)
    throw new OAuthError('request_not_supported', 'The parameter request is not supported here.');
  if (parameters.one('request_uri') !== undefined)
    throw new OAuthError(
      'request_uri_not_supported',
      'Only the request_uri of a pushed request is supported: push the request, or send it as request.',
    );
}

/** PKCE is REQUIRED for all clients; an omitted method would mean `plain`. @see RFC 7636 §4.3, seed 5.3(1) */
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

/** @see OpenID Connect Core 1.0 §3.1.2.1 */
function checkAcrValues(parameters: Parameters): readonly string[] {
  const text = parameters.one('acr_values') ?? '';
  if (!/\p{Cc}/u.test(text)) return text.split(' ').filter((value) => value !== '');
  throw new OAuthError('invalid_request', 'The acr_values must not contain control characters.');
}

/** Three centuries, in seconds: a longer time means the same, and has to be stored. */
const MAX_AGE = 9_999_999_999;

/** @see OpenID Connect Core 1.0 §3.1.2.1 */
function checkMaxAge(parameters: Parameters): number | null {
  const text = parameters.one('max_age');
  if (text === undefined) return null;
  if (/^\d+$/.test(text)) return Math.min(Number(text), MAX_AGE);
  throw new OAuthError('invalid_request', 'The max_age must be a number of seconds.');
}

/** A SHA-256 thumbprint has the form of a code challenge. @see RFC 9449 §10, RFC 7638 §3 */
function checkThumbprint(parameters: Parameters): string | null {
  const thumbprint = parameters.one('dpop_jkt');
  if (thumbprint === undefined || isCodeChallenge(thumbprint)) return thumbprint ?? null;
  throw new OAuthError(
    'invalid_request',
    'The dpop_jkt must be a SHA-256 JWK thumbprint in base64url: 43 characters.',
  );
}

function checkPrompt(parameters: Parameters): ReadonlySet<Prompt> {
  const values = (parameters.one('prompt') ?? '').split(' ').filter((value) => value !== '');
  if (values.includes('none') && values.length > 1) {
    throw new OAuthError('invalid_request', 'The prompt none cannot be combined with another.');
  }
  // Unknown values are ignored.
  return new Set(PROMPTS.filter((prompt) => values.includes(prompt)));
}

/** The parameters of a request that a client sends. */
interface AuthorizationRequestParameters {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly state: string;
  /** Omitted if `null`, as in Profile A. */
  readonly resource: string | null;
  /** The parameter is omitted if there are none, never sent empty. */
  readonly scopes: Scopes;
  readonly prompt?: string;
  /** The thumbprint of the DPoP key that the code is to be bound to. @see RFC 9449 §10 */
  readonly keyThumbprint?: string;
  /** What a challenge demanded. @see RFC 9470 §4 */
  readonly authentication?: AuthenticationRequirement;
}

/**
 * Builds the URL to open in the browser. Query parameters of the endpoint are kept, unless the request sets them.
 * @throws TypeError if the endpoint is not https (http for loopback hosts) or has a fragment
 * @see RFC 6749 §4.1.1
 */
export function authorizationRequestUrl(endpoint: string, request: AuthorizationRequestParameters): string {
  const url = readSecureUrl(endpoint);
  if (url === null || endpoint.includes('#')) {
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
  const { acrValues = [], maxAge } = request.authentication ?? {};
  if (acrValues.length > 0) query.set('acr_values', acrValues.join(' '));
  if (maxAge !== undefined) query.set('max_age', String(maxAge));
  if (request.keyThumbprint !== undefined) query.set('dpop_jkt', request.keyThumbprint);
  return url.href;
}
