/** Token requests of every grant: a form, and what the response is validated against. */
import { refreshForm } from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import type { Registration, Tokens } from '../storage/credentials.ts';
import type { OAuthResponse } from '../transport.ts';
import type { ClientContext } from './client-context.ts';
import {
  type EndpointRequest,
  processEndpointResponse,
  requestJson,
  type TokenEndpointContext,
} from './endpoint-request.ts';
import { readTokens, type TokenResponseContext } from './token-response.ts';

/** A request whose successful response is tokens. */
export interface TokenRequest extends EndpointRequest {
  /** What the response is validated against. */
  readonly expected: Pick<
    TokenResponseContext,
    'requestedScopes' | 'resource' | 'refreshToken' | 'scopes' | 'statedResource' | 'requiresDpop'
  >;
}

/**
 * Result of a token request. `retry`: send the same request once more, now with the DPoP nonce of the response.
 * `pending`: the user has not decided yet; poll again, and five seconds slower after `slowDown`. @see RFC 8628 §3.5
 */
export type TokenResult =
  | { readonly kind: 'tokens'; readonly tokens: Tokens }
  | { readonly kind: 'retry' }
  | { readonly kind: 'pending'; readonly slowDown: boolean };

/**
 * The refresh token request, for the endpoint that issued the tokens.
 * @param asBearer asks Portcullis for a bearer token although a key is proven; other servers ignore it
 * @throws ClientError `sign_in_needed` when there is no refresh token
 * @see RFC 6749 §6
 */
export function refreshTokenRequest(
  tokens: Tokens,
  issuer: string,
  registration: Registration,
  asBearer = false,
): TokenRequest {
  const { refreshToken, resource, requestedScopes, scopes, scheme, tokenEndpoint, dpopKey } = tokens;
  if (refreshToken === null) {
    throw new ClientError('sign_in_needed', 'There is no refresh token: the user has to sign in.');
  }
  const form = refreshForm({ refreshToken, resource });
  if (asBearer) form.set('token_type', 'Bearer');
  return {
    endpoint: tokenEndpoint,
    issuer,
    registration,
    form,
    dpopKey,
    expected: {
      requestedScopes,
      resource,
      refreshToken,
      scopes,
      requiresDpop: scheme === 'DPoP' && !asBearer,
    },
  };
}

/**
 * Processes the response to a token request that `authenticatedRequest` wrote.
 * @throws ClientError `token_refused` with the OAuth error code; `token_response_invalid`; `redirected`;
 * `temporarily_unavailable`
 * @see RFC 6749 §5, RFC 9449 §8
 */
export function processTokenResponse(
  context: ClientContext,
  request: TokenRequest,
  response: OAuthResponse,
): TokenResult {
  try {
    const result = processEndpointResponse(context, request, response);
    if (result.kind === 'retry') return result;
    return { kind: 'tokens', tokens: tokensFrom(context, request, result.json) };
  } catch (error) {
    const code = error instanceof ClientError ? error.oauthError : undefined;
    if (code === 'authorization_pending') return { kind: 'pending', slowDown: false };
    if (code === 'slow_down') return { kind: 'pending', slowDown: true };
    throw error;
  }
}

/** Sends a token request with the client's transport. @throws ClientError as `processTokenResponse` */
export async function requestTokens(context: TokenEndpointContext, request: TokenRequest): Promise<Tokens> {
  return tokensFrom(context, request, await requestJson(context, request));
}

function tokensFrom({ clock }: ClientContext, request: TokenRequest, json: unknown): Tokens {
  const { endpoint, registration, dpopKey, expected } = request;
  const { clientId } = registration;
  return readTokens(json, { ...expected, now: clock(), tokenEndpoint: endpoint, clientId, dpopKey });
}
