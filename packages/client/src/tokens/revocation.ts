/** Signing out: the server is told that its tokens are not needed any more. */
import { ClientError } from '../errors.ts';
import type { Registration } from '../registration/registration.ts';
import { type Answer, type Ask, exchange } from '../transport.ts';
import type { Prover } from './prover.ts';
import { askEndpoint, type EndpointRequest, type TokenHands, understandEndpoint } from './token-endpoint.ts';
import type { Tokens } from './tokens.ts';

/** What is revoked, and as whom. */
export interface RevocationFacts {
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
export function revocationRequests(facts: RevocationFacts): readonly RevocationRequest[] {
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
export function askRevocation(prover: Prover, request: RevocationRequest): Promise<Ask> {
  return askEndpoint(prover, request);
}

/**
 * Understands the answer; nothing is returned.
 * @throws ClientError when the server does not take it.
 * @see RFC 7009 §2.2.1
 */
export function understandRevocation(prover: Prover, request: RevocationRequest, answer: Answer): void {
  try {
    understandEndpoint(prover, request, answer);
  } catch (error) {
    const unable = error instanceof ClientError && error.oauthError === 'unsupported_token_type';
    if (!unable || !request.optional) throw error;
  }
}

/** All of them, with the transport of the client. */
export async function revokeTokens(hands: TokenHands, facts: RevocationFacts): Promise<void> {
  for (const request of revocationRequests(facts)) {
    understandRevocation(hands, request, await exchange(hands.wire, await askRevocation(hands, request)));
  }
}
