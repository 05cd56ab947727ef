/** Signing out: the server is told that its tokens are not needed any more. */
import { ClientError } from '../errors.ts';
import type { Registration } from '../registration/registration.ts';
import { type OAuthRequest, type OAuthResponse, sendRequest } from '../transport.ts';
import type { ClientContext } from './client-context.ts';
import {
  authenticatedRequest,
  type EndpointRequest,
  processEndpointResponse,
  type TokenEndpointContext,
} from './endpoint-request.ts';
import type { Tokens } from './token-response.ts';

/** What is revoked, and as whom. */
export interface RevocationInput {
  /** The metadata's `revocation_endpoint`. */
  readonly endpoint: string;
  readonly issuer: string;
  readonly registration: Registration;
  readonly tokens: Tokens;
}

/** One revocation. */
export interface RevocationRequest extends EndpointRequest {
  /** An access token that the server cannot revoke, as a signed one, ends by itself soon. */
  readonly optional: boolean;
}

/**
 * The requests that revoke a session, to be sent in this order: of the refresh token, and of the access token after it.
 * @see RFC 7009 §2.1
 */
export function revocationRequests(facts: RevocationInput): readonly RevocationRequest[] {
  const { endpoint, issuer, registration } = facts;
  const { refreshToken, accessToken } = facts.tokens;
  const revoke = (token: string, hint: string, optional: boolean): RevocationRequest => {
    const form = new URLSearchParams({ token, token_type_hint: hint });
    return { endpoint, issuer, registration, form, dpopKey: null, optional };
  };
  return [
    ...(refreshToken === null ? [] : [revoke(refreshToken, 'refresh_token', false)]),
    revoke(accessToken, 'access_token', refreshToken !== null),
  ];
}

/** Writes one of them as it is to be sent. */
export function askRevocation(prover: ClientContext, request: RevocationRequest): Promise<OAuthRequest> {
  return authenticatedRequest(prover, request);
}

/**
 * Understands the answer; nothing is returned.
 * @throws ClientError when the server does not take it.
 * @see RFC 7009 §2.2.1
 */
export function processRevocationResponse(
  prover: ClientContext,
  request: RevocationRequest,
  answer: OAuthResponse,
): void {
  try {
    processEndpointResponse(prover, request, answer);
  } catch (error) {
    const unable = error instanceof ClientError && error.oauthError === 'unsupported_token_type';
    if (!unable || !request.optional) throw error;
  }
}

/** All of them, with the transport of the client. */
export async function revokeTokens(hands: TokenEndpointContext, facts: RevocationInput): Promise<void> {
  for (const request of revocationRequests(facts)) {
    processRevocationResponse(
      hands,
      request,
      await sendRequest(hands.transport, await askRevocation(hands, request)),
    );
  }
}
