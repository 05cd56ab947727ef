/** Token revocation: notifies the authorization server that the tokens of a session are no longer needed. */
import { ClientError } from '../errors.ts';
import type { Registration, Tokens } from '../storage/credentials.ts';
import { type OAuthResponse, sendRequest } from '../transport.ts';
import type { ClientContext } from './client-context.ts';
import {
  authenticatedRequest,
  type EndpointRequest,
  processEndpointResponse,
  type TokenEndpointContext,
} from './endpoint-request.ts';

/** The tokens to revoke, and the client they belong to. */
export interface RevocationInput {
  /** The `revocation_endpoint` of the metadata. */
  readonly endpoint: string;
  readonly issuer: string;
  readonly registration: Registration;
  readonly tokens: Tokens;
}

/** One revocation. */
export interface RevocationRequest extends EndpointRequest {
  /** A server may be unable to revoke an access token such as a signed one, which expires soon anyway. */
  readonly optional: boolean;
}

/**
 * The requests that revoke a session, in the order to send them: the refresh token first, then the access token.
 * @see RFC 7009 §2.1
 */
export function revocationRequests(input: RevocationInput): readonly RevocationRequest[] {
  const { endpoint, issuer, registration } = input;
  const { refreshToken, accessToken } = input.tokens;
  const revoke = (token: string, hint: string, optional: boolean): RevocationRequest => {
    const form = new URLSearchParams({ token, token_type_hint: hint });
    return { endpoint, issuer, registration, form, dpopKey: null, optional };
  };
  return [
    ...(refreshToken === null ? [] : [revoke(refreshToken, 'refresh_token', false)]),
    revoke(accessToken, 'access_token', refreshToken !== null),
  ];
}

/**
 * Processes the response to a revocation.
 * @throws ClientError `token_refused` with the OAuth error code, `temporarily_unavailable` or `redirected` when the server did
 * not revoke the token.
 * @see RFC 7009 §2.2.1
 */
export function processRevocationResponse(
  context: ClientContext,
  request: RevocationRequest,
  response: OAuthResponse,
): void {
  try {
    processEndpointResponse(context, request, response);
  } catch (error) {
    const unsupported = error instanceof ClientError && error.oauthError === 'unsupported_token_type';
    if (!unsupported || !request.optional) throw error;
  }
}

/** Revokes all tokens of a session. @throws ClientError as `processRevocationResponse` */
export async function revokeTokens(context: TokenEndpointContext, input: RevocationInput): Promise<void> {
  for (const request of revocationRequests(input)) {
    const response = await sendRequest(context.transport, await authenticatedRequest(context, request));
    processRevocationResponse(context, request, response);
  }
}
