/** Requests to the protected server: the headers that authorize them, and what a 401 or 403 response means. */
import { readServerChallenge, type ServerChallenge } from '../discovery/challenge.ts';
import type { Tokens } from '../storage/credentials.ts';
import type { ClientContext } from '../token-endpoint/client-context.ts';
import type { OAuthResponse } from '../transport.ts';

/**
 * What a response of the protected server means for the tokens. `retry`: the server requires its nonce, or its time, in the DPoP
 * proof; send the same request once more. `rejected`: refresh, else sign in. `insufficient_scope`: step up.
 */
export type ProtectedResourceResult =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'retry' }
  | { readonly kind: 'rejected' | 'insufficient_scope'; readonly challenge: ServerChallenge };

/**
 * The headers that a request to the protected server needs: `authorization`, and `dpop` for a bound token. Send them to
 * URLs below the path of the resource only, in whole segments, also after a redirect.
 * @see RFC 6750 §2.1, RFC 9449 §7.1
 */
export async function protectedResourceHeaders(
  context: ClientContext,
  { accessToken, scheme, dpopKey }: Tokens,
  request: { readonly method: string; readonly url: string },
): Promise<Record<string, string>> {
  const headers = { authorization: `${scheme} ${accessToken}` };
  // A bearer token may have a refresh token that is bound to a key.
  if (dpopKey === null || scheme !== 'DPoP') return headers;
  return { ...headers, dpop: await context.dpopProofs.create(dpopKey, { ...request, accessToken }) };
}

/** Evaluates the response to such a request, and stores its DPoP nonce. @see RFC 6750 §3.1, RFC 9449 §7.1 and §9 */
export function processProtectedResourceResponse(
  context: ClientContext,
  url: string,
  { status, headers }: Pick<OAuthResponse, 'status' | 'headers'>,
): ProtectedResourceResult {
  const challenge = status === 401 || status === 403 ? readServerChallenge(headers) : null;
  const mayRetry = context.dpopProofs.learn(url, headers, status === 401 ? challenge?.error : null);
  if (challenge === null) return { kind: 'accepted' };
  if (status === 401) return mayRetry ? { kind: 'retry' } : { kind: 'rejected', challenge };
  // Any other 403 is not about scopes.
  return challenge.error === 'insufficient_scope'
    ? { kind: 'insufficient_scope', challenge }
    : { kind: 'accepted' };
}
