/** The authorization response: matched to its pending authorization, checked for state and issuer (mix-up attack), and redeemed. */
import { authorizationCodeForm, readAuthorizationResponse } from '@portcullis/protocol';
import { ClientError, resourceAdvice, sanitizeText } from '../errors.ts';
import type { CredentialStore } from '../storage/credential-store.ts';
import type { PendingAuthorization } from '../storage/credentials.ts';
import type { TokenRequest } from '../token-endpoint/token-request.ts';

/** What a response is presented for: its pending authorization must belong to the same server and account. */
type ResponsePresenter = Pick<PendingAuthorization, 'server' | 'account' | 'binding'>;

/**
 * Consumes the pending authorization of a response. A response whose state is missing or differs MUST be discarded.
 * @throws ClientError `response_rejected` when there is none, it has expired, or it belongs to another session, server or
 * account.
 */
export async function takePendingAuthorization(
  store: Pick<CredentialStore, 'takePending'>,
  query: URLSearchParams,
  presenter: ResponsePresenter,
  now: number,
): Promise<PendingAuthorization> {
  const states = query.getAll('state');
  const state = states.length === 1 ? (states[0] ?? '') : '';
  // Point of no return: an authorization has one response, whether it succeeds or fails.
  const pending = state === '' ? null : await store.takePending(state);
  if (pending === null || !isPresentedBy(pending, presenter) || now >= pending.expiresAt) {
    throw new ClientError('response_rejected', 'This response matches no pending sign-in. Start again.');
  }
  return pending;
}

/** A client that shares its store must not use the tokens of another server or account as its own. */
function isPresentedBy(
  pending: PendingAuthorization,
  { server, account, binding }: ResponsePresenter,
): boolean {
  return pending.server === server && pending.account === account && pending.binding === binding;
}

/** The query of a complete redirect URL, for example pasted from an address bar. */
export function readRedirectQuery(redirectedTo: string | URLSearchParams): URLSearchParams {
  if (typeof redirectedTo !== 'string') return redirectedTo;
  const url = URL.parse(redirectedTo.trim());
  if (url !== null) return url.searchParams;
  throw new ClientError('response_rejected', 'This is not a URL. Paste the complete address.');
}

/**
 * Validates the redirect URL, or its query, for a caller that stores pending authorizations itself: it must delete the
 * pending authorization first, so that it is used once.
 * @param now epoch milliseconds
 * @returns the code, for `codeTokenRequest`
 * @throws ClientError `response_rejected`, `authorization_denied` or `authorization_failed`
 * @see RFC 6749 §4.1.2, RFC 9207 §2.4
 */
export function processAuthorizationResponse(
  redirectedTo: string | URLSearchParams,
  pending: PendingAuthorization,
  now: number = Date.now(),
): string {
  if (now >= pending.expiresAt) throw new ClientError('response_rejected', 'This response is too late.');
  return validateAuthorizationResponse(readRedirectQuery(redirectedTo), pending);
}

/**
 * Validates state, then issuer, then the result.
 * @returns the code
 * @throws ClientError `response_rejected`, `authorization_denied` or `authorization_failed`
 * @see RFC 9207 §2.4
 */
export function validateAuthorizationResponse(
  query: URLSearchParams,
  { state, issuer, responseIssuer = issuer, issuerAdvertised, issuerRule }: PendingAuthorization,
): string {
  const expected = { state, issuer: responseIssuer, issuerAdvertised, issuerRule };
  const response = readAuthorizationResponse(query, expected);
  switch (response.kind) {
    case 'code':
      return response.code;
    case 'rejected':
      // No content of a rejected response is displayed.
      throw new ClientError(
        'response_rejected',
        `The authorization response was rejected: ${response.reason}.`,
      );
    case 'error':
      throw authorizationError(response.error, response.description);
  }
}

function authorizationError(error: string, description: string): ClientError {
  const oauthError = sanitizeText(error);
  // "The resource owner or authorization server denied the request": only the description says which. @see RFC 6749 §4.1.2.1
  if (error === 'access_denied') {
    const details = sanitizeText(description);
    const message = details === '' ? 'Access was denied.' : `Access was denied: ${details}`;
    return new ClientError('authorization_denied', message, { oauthError });
  }
  const details = [error, description]
    .filter((part) => part !== '')
    .map(sanitizeText)
    .join(': ');
  return new ClientError(
    'authorization_failed',
    `The authorization server did not sign the user in (${details}).${resourceAdvice(error, description)}`,
    { oauthError },
  );
}

/**
 * The request that redeems a code, at the token endpoint of the issuer that the authorization was started with.
 * @see RFC 6749 §4.1.3, RFC 7636 §4.5
 */
export function codeTokenRequest(pending: PendingAuthorization, code: string): TokenRequest {
  const { codeVerifier, redirectUri, resource, scopes, requiresDpop = false } = pending;
  return {
    endpoint: pending.tokenEndpoint,
    issuer: pending.issuer,
    registration: pending.registration,
    form: authorizationCodeForm({ code, codeVerifier, redirectUri, resource }),
    dpopKey: pending.dpopKey,
    expected: { requestedScopes: scopes, resource, refreshToken: null, scopes: null, requiresDpop },
  };
}
