/** The authorization response: built by the server, validated by the client, with mix-up defence (RFC 9207). */
import { errorDocument, type OAuthError, type OAuthErrorCode, sanitizeErrorText } from '../errors.ts';
import { RESPONSE_PARAMETERS, type RedirectTarget } from '../redirect-uri.ts';

/** What every response contains besides its code or error. */
export interface AuthorizationResponseContext {
  readonly state: string | undefined;
  /** The issuer, byte for byte; `null` if the server does not support RFC 9207. */
  readonly issuer: string | null;
}

/** Builds the redirect that carries a code. @see RFC 6749 §4.1.2, RFC 9207 §2 */
export function codeResponseUrl(
  target: RedirectTarget,
  code: string,
  context: AuthorizationResponseContext,
): string {
  return responseUrl(target, `code=${encodeFormValue(code)}`, context);
}

/** Builds the redirect that carries an error. @see RFC 6749 §4.1.2.1, RFC 9207 §2 */
export function errorResponseUrl(
  target: RedirectTarget,
  error: OAuthError,
  context: AuthorizationResponseContext,
): string {
  const members = Object.entries(errorDocument(error));
  const query = members.map(([name, value]) => `${name}=${encodeFormValue(value)}`);
  return responseUrl(target, query.join('&'), context);
}

/** The query of the registered redirect URI is kept as it is. */
function responseUrl(
  target: RedirectTarget,
  query: string,
  { state, issuer }: AuthorizationResponseContext,
): string {
  const stateField = state === undefined ? '' : `&state=${encodeFormValue(state)}`;
  const issuerField = issuer === null ? '' : `&iss=${encodeFormValue(issuer)}`;
  return `${target.uri}${joint(target.uri)}${query}${stateField}${issuerField}`;
}

/** What the form encoding leaves as it is, such as codes and most states. */
const PLAIN = /^[\w.*-]*$/;

/** What `encodeURIComponent` leaves and the form encoding does not. */
const UNENCODED = /[!'()~]/g;

/** As `URLSearchParams` would, in a fraction of the time. @see URL Standard §5.2 */
function encodeFormValue(text: string): string {
  if (PLAIN.test(text)) return text;
  return encodeURIComponent(text.toWellFormed())
    .replaceAll('%20', '+')
    .replace(UNENCODED, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The separator between a URI and further parameters. */
function joint(uri: string): '?' | '&' | '' {
  if (!uri.includes('?')) return '?';
  return uri.indexOf('?') === uri.length - 1 || uri.endsWith('&') ? '' : '&';
}

/** What the client stored when it sent the request. */
interface AuthorizationResponseExpectations {
  readonly state: string;
  /** The validated issuer; `null` for a server without metadata. */
  readonly issuer: string | null;
  /** Whether the metadata contains `authorization_response_iss_parameter_supported`. */
  readonly issuerAdvertised: boolean;
  /** `ignore` for revisions without RFC 9207. */
  readonly issuerRule: 'ignore' | 'rfc9207';
}

/** The outcome of a callback. Nothing in a `rejected` response may be used or shown. */
type AuthorizationResponse =
  | { readonly kind: 'code'; readonly code: string }
  | { readonly kind: 'error'; readonly error: OAuthErrorCode | (string & {}); readonly description: string }
  | { readonly kind: 'rejected'; readonly reason: string };

const LONGEST_EXCERPT = 1000;

/**
 * Validates the query of a callback: `state` first, then `iss` by simple string comparison, only then code or error.
 * @see RFC 6749 §4.1.2, RFC 9207 §2.4, seed 2.4 row 3
 */
export function readAuthorizationResponse(
  query: URLSearchParams,
  expected: AuthorizationResponseExpectations,
): AuthorizationResponse {
  // Response parameters MUST NOT be included more than once. OAuth 2.1 draft 13 §4.1.2
  const repeated = RESPONSE_PARAMETERS.find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) return rejected(`the parameter ${repeated} is repeated`);
  if (query.get('state') !== expected.state)
    return rejected('the state is missing or does not match the request');
  const issuerIssue = issuerMismatch(query.get('iss'), expected);
  if (issuerIssue !== null) return rejected(issuerIssue);

  const error = query.get('error');
  const code = query.get('code');
  if (error !== null && error !== '') {
    const description = query.get('error_description') ?? '';
    return { kind: 'error', error: excerpt(error), description: excerpt(description) };
  }
  return code === null || code === ''
    ? rejected('it contains neither a code nor an error')
    : { kind: 'code', code };
}

/** Limits and sanitizes text from the server, so that it can be shown to a user. */
function excerpt(text: string): string {
  return sanitizeErrorText(text.slice(0, LONGEST_EXCERPT));
}

function issuerMismatch(issuer: string | null, expected: AuthorizationResponseExpectations): string | null {
  if (expected.issuerRule === 'ignore' || expected.issuer === null) return null;
  if (issuer === null)
    return expected.issuerAdvertised ? 'the issuer is missing although the metadata announces it' : null;
  // No normalization: case, default port, slash and percent-encoding all count.
  return issuer === expected.issuer ? null : 'the issuer is not the one that the request was sent to';
}

function rejected(reason: string): AuthorizationResponse {
  return { kind: 'rejected', reason };
}
