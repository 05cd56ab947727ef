/** Pushed authorization requests (RFC 9126): the request is sent to the server, and the browser receives a reference to it. */
import { AUTHORIZATION_PARAMETERS, jsonMembers } from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import { requestJson, type TokenEndpointContext } from '../token-endpoint/endpoint-request.ts';
import type { GrantInput } from './machine-grants.ts';

/**
 * Pushes the request of an authorization URL if the server supports it, bound to the DPoP key.
 * @returns the URL to open instead; the same URL if the server does not support it or its endpoint fails
 * @throws ClientError `token_refused` with the OAuth error code when the server rejects the request, or a temporary error
 * @see RFC 9126 §2 and §4, RFC 9449 §10.1
 */
export async function pushRequest(
  context: TokenEndpointContext,
  url: string,
  { discovery: { metadata, issuer }, registration, dpopKey }: Omit<GrantInput, 'scopes'>,
): Promise<string> {
  const endpoint = metadata.pushed_authorization_request_endpoint;
  if (endpoint === undefined) return url;
  const form = new URLSearchParams(new URL(url).search);
  try {
    const json = await requestJson(context, { endpoint, issuer, registration, form, dpopKey });
    return referenceUrl(url, readRequestUri(json));
  } catch (error) {
    const isRejected = !(error instanceof ClientError) || error.oauthError !== undefined || error.temporary;
    if (isRejected || metadata.require_pushed_authorization_requests === true) throw error;
    return url;
  }
}

function readRequestUri(json: unknown): string {
  const { request_uri: uri } = jsonMembers(json);
  if (typeof uri === 'string' && uri !== '') return uri;
  throw new ClientError(
    'metadata_invalid',
    'The pushed authorization request endpoint returned no request_uri.',
  );
}

/** Query parameters of the endpoint itself are preserved. */
function referenceUrl(url: string, requestUri: string): string {
  const reference = new URL(url);
  const clientId = reference.searchParams.get('client_id') ?? '';
  for (const name of AUTHORIZATION_PARAMETERS) reference.searchParams.delete(name);
  reference.searchParams.set('client_id', clientId);
  reference.searchParams.set('request_uri', requestUri);
  return reference.href;
}
