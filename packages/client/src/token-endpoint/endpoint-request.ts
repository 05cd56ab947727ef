/** Authenticated requests to the token, revocation and device authorization endpoints, with DPoP nonces and error responses. */
import { jsonMembers } from '@portcullis/protocol';
import { ClientError, resourceAdvice, sanitizeText } from '../errors.ts';
import type { PrivateEcJwk } from '../signing-key.ts';
import type { Registration } from '../storage/credentials.ts';
import {
  isTemporaryStatus,
  type OAuthRequest,
  type OAuthResponse,
  parseJsonOrUndefined,
  postRequest,
  readRetryAfter,
  requireNoRedirect,
  sendRequest,
  type Transport,
  temporaryError,
  textMember,
} from '../transport.ts';
import { clientCredentials } from './client-authentication.ts';
import type { ClientContext } from './client-context.ts';

/** What requests to a token endpoint are created and sent with. */
export interface TokenEndpointContext extends ClientContext {
  readonly transport: Transport;
  /** Milliseconds. */
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** A form for an endpoint that authenticates the client. */
export interface EndpointRequest {
  readonly endpoint: string;
  readonly issuer: string;
  readonly registration: Registration;
  readonly form: URLSearchParams;
  /** The key to bind the token to; `null`: a bearer token. */
  readonly dpopKey: PrivateEcJwk | null;
}

/** `retry`: the server requires its nonce, or its time, in the DPoP proof; send the same request once more. */
type EndpointResult = { readonly kind: 'granted'; readonly json: unknown } | { readonly kind: 'retry' };

/**
 * Sends a request, and sends it again with the nonce when the server requires one.
 * @returns the JSON of the successful response
 * @throws ClientError `token_refused` with the OAuth error code, or a temporary error.
 */
export async function requestJson(context: TokenEndpointContext, request: EndpointRequest): Promise<unknown> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const response = await sendRequest(context.transport, await authenticatedRequest(context, request));
    const result = processEndpointResponse(context, request, response);
    if (result.kind === 'granted') return result.json;
  }
  throw new ClientError(
    'token_refused',
    `${new URL(request.endpoint).origin} keeps asking for a new DPoP nonce.`,
    { oauthError: 'use_dpop_nonce' },
  );
}

/**
 * Creates the HTTP request with client authentication and, for a bound token, a DPoP proof.
 * @throws ClientError `insecure_url`, or `configuration_invalid` when a secret or key is missing
 * @see RFC 6749 §2.3 and §3.2.1, RFC 7523 §2.2, RFC 9449 §5
 */
export async function authenticatedRequest(
  context: ClientContext,
  { endpoint, issuer, registration, form, dpopKey }: EndpointRequest,
): Promise<OAuthRequest> {
  const credentials = await clientCredentials(registration, issuer, context);
  const body = new URLSearchParams(form);
  for (const [name, value] of Object.entries(credentials.parameters)) body.set(name, value);
  const proven = { method: 'POST', url: endpoint, accessToken: null };
  const dpop = dpopKey !== null && { dpop: await context.dpopProofs.create(dpopKey, proven) };
  return postRequest(endpoint, 'form', body.toString(), { ...credentials.headers, ...dpop });
}

/**
 * Processes the response.
 * @throws ClientError `token_refused` with the OAuth error code, or a temporary error.
 */
export function processEndpointResponse(
  context: ClientContext,
  { endpoint, dpopKey }: EndpointRequest,
  response: OAuthResponse,
): EndpointResult {
  requireNoRedirect({ url: endpoint }, response);
  const error = textMember(response, 'error');
  const proofError = dpopKey === null ? null : error;
  if (context.dpopProofs.learn(endpoint, response.headers, proofError)) return { kind: 'retry' };
  const json = parseJsonOrUndefined(response.body);
  // Some servers report errors with status 200.
  const isError = error !== undefined && jsonMembers(json)['access_token'] === undefined;
  if (response.status >= 200 && response.status < 300 && !isError) return { kind: 'granted', json };
  throw errorFrom(endpoint, response, context.clock());
}

function errorFrom(endpoint: string, response: OAuthResponse, now: number): ClientError {
  const { status } = response;
  const { origin, pathname } = new URL(endpoint);
  const sender = sanitizeText(`${origin}${pathname}`);
  if (isTemporaryStatus(status)) return temporaryError(sender, response, now);
  const oauthError = textMember(response, 'error');
  if (oauthError === 'temporarily_unavailable') {
    const message = `${sender} is unavailable at the moment.`;
    const retryAfter = readRetryAfter(response.headers, now);
    return new ClientError('temporarily_unavailable', message, { status, oauthError, retryAfter });
  }
  const description = textMember(response, 'error_description');
  const details = [oauthError, description].filter((part) => part !== undefined).join(': ');
  const message = `${sender} refused the request (${details || `status ${status}`}).${resourceAdvice(oauthError, description)}`;
  return new ClientError('token_refused', message, { status, oauthError });
}
