/** The authorization response: one waiting flow is taken for it, judged, and redeemed where the flow began. */
import { authorizationCodeForm, readAuthorizationResponse } from '@portcullis/protocol';
import { ClientError, displayText } from '../errors.ts';
import type { CredentialStore } from '../store/credential-store.ts';
import { requestToken, type TokenHands } from '../tokens/token-endpoint.ts';
import { readTokens, type Tokens } from '../tokens/tokens.ts';
import type { Pending } from './pending.ts';

/**
 * Takes the flow that a response answers. A response whose state is missing or differs MUST be discarded.
 * @throws ClientError `response_rejected` when there is none, it is too late, or it came by another session.
 */
export async function takeFlow(
  store: CredentialStore,
  query: URLSearchParams,
  binding: string | null,
  now: number,
): Promise<Pending> {
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

/**
 * Judges a response: state, then issuer, then what it says.
 * @returns the code
 * @throws ClientError `response_rejected`, `authorization_denied` or `authorization_failed`
 * @see RFC 9207 §2.4
 */
export function checkResponse(query: URLSearchParams, pending: Pending): string {
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
        .map(displayText)
        .join(': ');
      throw new ClientError(
        denied ? 'authorization_denied' : 'authorization_failed',
        denied
          ? 'The person did not allow it.'
          : `The authorization server did not sign the person in (${said}).`,
        { oauthError: displayText(response.error) },
      );
    }
  }
}

/** Redeems a code at the token endpoint of the issuer that the request went to, and nowhere else. */
export async function redeemCode(hands: TokenHands, pending: Pending, code: string): Promise<Tokens> {
  const json = await requestToken(hands, {
    endpoint: pending.tokenEndpoint,
    issuer: pending.issuer,
    registration: pending.registration,
    form: authorizationCodeForm({
      code,
      codeVerifier: pending.codeVerifier,
      redirectUri: pending.redirectUri,
      resource: pending.resource,
    }),
    dpopKey: pending.dpopKey,
  });
  return readTokens(json, {
    now: hands.clock(),
    requestedScopes: pending.scopes,
    resource: pending.resource,
    tokenEndpoint: pending.tokenEndpoint,
    clientId: pending.registration.clientId,
    dpopKey: pending.dpopKey,
    refreshToken: null,
    scopes: null,
  });
}
