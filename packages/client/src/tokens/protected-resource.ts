/** One request to the protected server: what proves that it may be made, and what a refusal says. */
import { readServerChallenge, type ServerChallenge } from '../discovery/challenge.ts';
import { createDpopProof } from '../dpop/proof.ts';
import type { ClientContext } from '../token-endpoint/client-context.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';
import type { OAuthResponse } from '../transport.ts';

/**
 * What an answer of the protected server means for the tokens that it was asked with. `again`: the server wants its nonce
 * in the proof, and the same is to be asked once more. `refused`: refresh, else sign in. `insufficient_scope`: step up.
 */
export type ProtectedResourceResult =
  | { readonly kind: 'answered' }
  | { readonly kind: 'again' }
  | { readonly kind: 'refused' | 'insufficient_scope'; readonly challenge: ServerChallenge };

/**
 * The header fields that a request to the protected server needs: `authorization`, and for a bound token `dpop`. They
 * are for the server that the tokens were got for, and for nobody else.
 * @see RFC 6750 §2.1, RFC 9449 §7.1
 */
export async function protectedResourceHeaders(
  prover: ClientContext,
  tokens: Tokens,
  request: { readonly method: string; readonly url: string },
): Promise<Record<string, string>> {
  const fields = { authorization: `${tokens.scheme} ${tokens.accessToken}` };
  if (tokens.dpopKey === null) return fields;
  const { accessToken } = tokens;
  const nonce = prover.dpopNonces.find(request.url);
  const subject = { ...request, accessToken, nonce, now: prover.clock(), identifier: prover.createJti() };
  return { ...fields, dpop: await createDpopProof(tokens.dpopKey, subject) };
}

/** Understands the answer to a request that `authorize` wrote fields for; keeps the nonce that came with it. */
export function processProtectedResourceResponse(
  prover: ClientContext,
  url: string,
  { status, headers }: Pick<OAuthResponse, 'status' | 'headers'>,
): ProtectedResourceResult {
  const isNew = prover.dpopNonces.keep(url, headers);
  if (status !== 401 && status !== 403) return { kind: 'answered' };
  const challenge = readServerChallenge(headers);
  if (status === 401) {
    return isNew && challenge.error === 'use_dpop_nonce' ? { kind: 'again' } : { kind: 'refused', challenge };
  }
  // Only a refusal that says so is about scopes.
  return challenge.error === 'insufficient_scope'
    ? { kind: 'insufficient_scope', challenge }
    : { kind: 'answered' };
}
