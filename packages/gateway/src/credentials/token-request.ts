/** Token requests of the gateway at an endpoint that is known: without discovery, and without a DPoP key. */
import { ClientError, type PreregisteredClient, type Tokens } from '@portcullis/client';
import {
  authenticatedRequest,
  createClientContext,
  processTokenResponse,
  type TokenRequest,
} from '@portcullis/client/steps';
import { createOutboundFetch, type OutboundFetch } from '@portcullis/http/outbound';
import { isLoopbackHost, type Scopes } from '@portcullis/protocol';

/** Sends requests to a configured URL, and others beside it: it may be in a private network. @param timeout milliseconds */
export function createConfiguredFetch(url: string, timeout: number): OutboundFetch {
  const { hostname, origin } = new URL(url);
  return createOutboundFetch({
    allowLoopback: isLoopbackHost(hostname),
    allowedPrivateOrigins: [origin],
    timeout,
  });
}

interface EndpointTokenRequest {
  readonly endpoint: string;
  /** The audience of client assertions. */
  readonly issuer: string;
  readonly client: PreregisteredClient;
  readonly form: URLSearchParams;
  readonly scopes: Scopes;
  readonly resource: string | null;
}

/**
 * @param clock epoch milliseconds
 * @returns the tokens, and the response as it was sent
 * @throws ClientError, OutboundError
 */
export async function requestTokensAt(
  fetch: OutboundFetch,
  { endpoint, issuer, client, form, scopes, resource }: EndpointTokenRequest,
  clock: () => number,
): Promise<{ readonly tokens: Tokens; readonly body: string }> {
  const { clientId, clientSecret = null, signingKey = null } = client;
  const context = createClientContext({ clock, signingKeyFor: () => signingKey });
  const authentication =
    signingKey === null ? (clientSecret === null ? 'none' : 'client_secret_basic') : 'private_key_jwt';
  const request: TokenRequest = {
    ...{ endpoint, issuer, form, dpopKey: null },
    registration: {
      method: 'preregistered',
      clientId,
      clientSecret,
      authentication,
      redirectUris: [],
      secretExpiresAt: null,
    },
    expected: { requestedScopes: scopes, resource, refreshToken: null, scopes: null },
  };
  const { url, method, headers, body } = await authenticatedRequest(context, request);
  const response = await fetch(url, { method, headers, body: body ?? null, redirect: 'manual' });
  const { status } = response;
  const text = await response.text();
  const result = processTokenResponse(context, request, { status, headers: response.headers, body: text });
  if (result.kind === 'tokens') return { tokens: result.tokens, body: text };
  throw new ClientError('token_response_invalid', 'The token request was not answered with a token.');
}
