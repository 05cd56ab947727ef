/** The authorization response: one waiting flow is taken for it, judged, and redeemed where the flow began. */
import { authorizationCodeForm, readAuthorizationResponse } from '@portcullis/protocol';
import { ClientError, resourceAdvice, sanitizeText } from '../errors.ts';
import type { TokenRequest } from '../token-endpoint/token-request.ts';
import type { PendingAuthorization } from './pending.ts';

/** Where flows wait for their answers. */
export interface PendingAuthorizationStore {
  /** Hands a waiting flow to exactly one caller, and forgets it; `null` when there is none. */
  takePending(state: string): Promise<PendingAuthorization | null>;
}

/**
 * Takes the flow that a response answers. A response whose state is missing or differs MUST be discarded.
 * @throws ClientError `response_rejected` when there is none, it is too late, or it came by another session.
 */
export async function takePendingAuthorization(
  store: PendingAuthorizationStore,
  query: URLSearchParams,
  binding: string | null,
  now: number,
): Promise<PendingAuthorization> {
  const states = query.getAll('state');
  const state = states.length === 1 ? (states[0] ?? '') : '';
  // Point of no return: a flow is answered once, well or badly.
  const pending = state === '' ? null : await store.takePending(state);
  if (pending === null || pending.binding !== binding || now >= pending.expiresAt) {
    throw new ClientError(
      'response_rejected',
      'This answer belongs to no sign-in that is waiting here. Start again.',
    );
  }
  return pending;
}

/** A whole URL as it is pasted from an address bar, or a query. */
export function readRedirectQuery(arrived: string | URLSearchParams): URLSearchParams {
  if (typeof arrived !== 'string') return arrived;
  const url = URL.parse(arrived.trim());
  if (url !== null) return url.searchParams;
  throw new ClientError('response_rejected', 'This is not the URL of a page. Paste all of it.');
}

/**
 * Understands the URL at which the browser arrived, or its query, for a caller that keeps the flow itself: it has to take
 * the flow out of where it is kept before, so that it is answered once.
 * @returns the code, for `codeRequest`
 * @throws ClientError `response_rejected`, `authorization_denied` or `authorization_failed`
 */
export function processAuthorizationResponse(
  arrived: string | URLSearchParams,
  pending: PendingAuthorization,
  now: number = Date.now(),
): string {
  if (now >= pending.expiresAt) throw new ClientError('response_rejected', 'This answer comes too late.');
  return validateAuthorizationResponse(readRedirectQuery(arrived), pending);
}

/**
 * Judges a response: state, then issuer, then what it says.
 * @returns the code
 * @throws ClientError `response_rejected`, `authorization_denied` or `authorization_failed`
 * @see RFC 9207 §2.4
 */
export function validateAuthorizationResponse(query: URLSearchParams, pending: PendingAuthorization): string {
  const response = readAuthorizationResponse(query, {
    state: pending.state,
    issuer: pending.issuer,
    issuerAdvertised: pending.issuerAdvertised,
    issuerRule: pending.issuerRule,
  });
  switch (response.kind) {
    case 'code':
      return response.code;
    case 'rejected':
      // Nothing of a rejected response is shown.
      throw new ClientError(
        'response_rejected',
        `The answer to the sign-in was dropped: ${response.reason}.`,
      );
    case 'error': {
      const denied = response.error === 'access_denied';
      const said = [response.error, response.description]
        .filter((part) => part !== '')
        .map(sanitizeText)
        .join(': ');
      throw new ClientError(
        denied ? 'authorization_denied' : 'authorization_failed',
        denied
          ? 'The person did not allow it.'
          : `The authorization server did not sign the person in (${said}).${resourceAdvice(response.error, response.description)}`,
        { oauthError: sanitizeText(response.error) },
      );
    }
  }
}

/** The request that redeems a code: at the token endpoint of the issuer that the flow began with, and nowhere else. */
export function codeTokenRequest(pending: PendingAuthorization, code: string): TokenRequest {
  const { codeVerifier, redirectUri, resource, scopes } = pending;
  return {
    endpoint: pending.tokenEndpoint,
    issuer: pending.issuer,
    registration: pending.registration,
    form: authorizationCodeForm({ code, codeVerifier, redirectUri, resource }),
    dpopKey: pending.dpopKey,
    expected: { requestedScopes: scopes, resource, refreshToken: null, scopes: null },
  };
}
