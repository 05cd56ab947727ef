/** The authorization response: sent to a proven target by the server, believed or not by the client. */
import { errorDocument, type OAuthError, type OAuthErrorCode, sanitizeErrorText } from './errors.ts';
import type { RedirectTarget } from './redirect-uri.ts';

/** What stands in every response beside its code or error. */
export interface AuthorizationResponseContext {
  readonly state: string | undefined;
  /** The issuer, byte for byte; `null` when the server does not speak RFC 9207. */
  readonly issuer: string | null;
}

/** Where the browser goes with a code. @see OAuth 2.1 draft 13 §4.1.2, RFC 9207 §2 */
export function codeResponseUrl(
  target: RedirectTarget,
  code: string,
  context: AuthorizationResponseContext,
): string {
  return responseUrl(target, { code }, context);
}

/** Where the browser goes with an error. @see OAuth 2.1 draft 13 §4.1.2.1 */
export function errorResponseUrl(
  target: RedirectTarget,
  error: OAuthError,
  context: AuthorizationResponseContext,
): string {
  return responseUrl(target, { ...errorDocument(error) }, context);
}

/** The query that the target was registered with is kept as it stands. */
function responseUrl(
  target: RedirectTarget,
  parameters: Readonly<Record<string, string>>,
  context: AuthorizationResponseContext,
): string {
  const query = new URLSearchParams(parameters);
  if (context.state !== undefined) query.set('state', context.state);
  if (context.issuer !== null) query.set('iss', context.issuer);
  return `${target.uri}${joint(target.uri)}${query}`;
}

/** What stands between a URI and further parameters. */
function joint(uri: string): '?' | '&' | '' {
  const [, query] = /\?(.*)$/s.exec(uri) ?? [];
  if (query === undefined) return '?';
  return query === '' || query.endsWith('&') ? '' : '&';
}

/** What the client remembered when it sent the person away. */
export interface AuthorizationResponseExpectations {
  readonly state: string;
  /** The validated issuer; `null` for a server without metadata. */
  readonly issuer: string | null;
  /** What the metadata's `authorization_response_iss_parameter_supported` says. */
  readonly issuerAdvertised: boolean;
  /** `ignore` before RFC 9207 was part of the protocol. */
  readonly issuerRule: 'ignore' | 'rfc9207';
}

/** What a callback means. A `rejected` response is not to be acted on, and nothing in it shown. */
export type AuthorizationResponse =
  | { readonly kind: 'code'; readonly code: string }
  | { readonly kind: 'error'; readonly error: OAuthErrorCode | (string & {}); readonly description: string }
  | { readonly kind: 'rejected'; readonly reason: string };

/** Response parameters MUST NOT be included more than once. @see OAuth 2.1 draft 13 §4.1.2 */
const ONCE: readonly string[] = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri'];

const LONGEST_EXCERPT = 1000;

/**
 * Understands the query of a callback. `state` first, then `iss` by simple string comparison, and only then the rest.
 * @see seed 2.4 row 3, RFC 9207 §2.4
 */
export function readAuthorizationResponse(
  query: URLSearchParams,
  expected: AuthorizationResponseExpectations,
): AuthorizationResponse {
  const repeated = ONCE.find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) return rejected(`the parameter ${repeated} is repeated`);
  if (query.get('state') !== expected.state)
    return rejected('the state is missing or not the one that was sent');
  const issuerIssue = issuerMismatch(query.get('iss'), expected);
  if (issuerIssue !== null) return rejected(issuerIssue);

  const error = query.get('error');
  const code = query.get('code');
  if (error !== null && error !== '') {
    const description = query.get('error_description') ?? '';
    return { kind: 'error', error: excerpt(error), description: excerpt(description) };
  }
  return code === null || code === ''
    ? rejected('it holds neither a code nor an error')
    : { kind: 'code', code };
}

/** As much of a foreign sentence as a person would read. */
function excerpt(text: string): string {
  return sanitizeErrorText(text.slice(0, LONGEST_EXCERPT));
}

function issuerMismatch(issuer: string | null, expected: AuthorizationResponseExpectations): string | null {
  if (expected.issuerRule === 'ignore' || expected.issuer === null) return null;
  if (issuer === null)
    return expected.issuerAdvertised ? 'the issuer is missing although it was promised' : null;
  // No normalization: case, default port, slash and percent-encoding all count.
  return issuer === expected.issuer ? null : 'it comes from another issuer than the one that was asked';
}

function rejected(reason: string): AuthorizationResponse {
  return { kind: 'rejected', reason };
}
