/** Requests for tokens: a form with what its answer is judged by, written the same way for every grant. */
import { refreshForm } from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import type { Registration } from '../registration/registration.ts';
import type { OAuthRequest, OAuthResponse } from '../transport.ts';
import type { ClientContext } from './client-context.ts';
import {
  authenticatedRequest,
  type EndpointRequest,
  processEndpointResponse,
  requestJson,
  type TokenEndpointContext,
} from './endpoint-request.ts';
import { readTokens, type TokenResponseContext, type Tokens } from './token-response.ts';

/** What the answer alone does not tell, and the request does. */
type Expected = Pick<TokenResponseContext, 'requestedScopes' | 'resource' | 'refreshToken' | 'scopes'>;

/** A request whose answer is tokens. */
export interface TokenRequest extends EndpointRequest {
  readonly expected: Expected;
}

/**
 * What an answer means. `again`: the same is to be asked once more, now with the nonce that came. `wait`: the person has
 * not answered yet; the same is to be asked again after so many seconds at least.
 */
export type TokenResult =
  | { readonly kind: 'tokens'; readonly tokens: Tokens }
  | { readonly kind: 'again' }
  | { readonly kind: 'wait'; readonly longer: boolean };

/** The request that renews tokens, at the endpoint that issued them. @see OAuth 2.1 draft 13 §4.3.1 */
export function refreshTokenRequest(
  tokens: Tokens,
  issuer: string,
  registration: Registration,
): TokenRequest {
  const { refreshToken, resource, requestedScopes, scopes, tokenEndpoint, dpopKey } = tokens;
  if (refreshToken === null) {
    throw new ClientError('sign_in_needed', 'There is no refresh token: somebody has to sign in.');
  }
  return {
    endpoint: tokenEndpoint,
    issuer,
    registration,
    form: refreshForm({ refreshToken, resource }),
    dpopKey,
    expected: { requestedScopes, resource, refreshToken, scopes },
  };
}

/**
 * Writes a request as it is to be sent.
 * @throws ClientError `insecure_url`, or `configuration_invalid` when a secret or key is missing
 */
export function askTokens(prover: ClientContext, request: TokenRequest): Promise<OAuthRequest> {
  return authenticatedRequest(prover, request);
}

/**
 * Understands the answer.
 * @throws ClientError `token_refused` with the OAuth error code, `token_response_invalid`, or an outage.
 */
export function processTokenResponse(
  prover: ClientContext,
  request: TokenRequest,
  answer: OAuthResponse,
): TokenResult {
  try {
    const understood = processEndpointResponse(prover, request, answer);
    if (understood.kind === 'again') return understood;
    return { kind: 'tokens', tokens: tokensOf(prover, request, understood.json) };
  } catch (error) {
    const code = error instanceof ClientError ? error.oauthError : undefined;
    if (code === 'authorization_pending') return { kind: 'wait', longer: false };
    if (code === 'slow_down') return { kind: 'wait', longer: true };
    throw error;
  }
}

/** Both halves, with the transport of the client between them. */
export async function requestTokens(hands: TokenEndpointContext, request: TokenRequest): Promise<Tokens> {
  return tokensOf(hands, request, await requestJson(hands, request));
}

function tokensOf({ clock }: ClientContext, request: TokenRequest, json: unknown): Tokens {
  const { endpoint, registration, dpopKey, expected } = request;
  const { clientId } = registration;
  return readTokens(json, { ...expected, now: clock(), tokenEndpoint: endpoint, clientId, dpopKey });
}
