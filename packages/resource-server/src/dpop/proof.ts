/** A DPoP proof: that the request was made by whoever holds the key that the token is bound to. */
import { OAuthError } from '@portcullis/protocol/errors';
import { readUrl } from '@portcullis/protocol/web-url';
import { base64url, calculateJwkThumbprint, compactVerify, EmbeddedJWK, type JWK } from 'jose';
import type { Algorithm } from '../tokens/public-keys.ts';
import type { Nonces } from './nonces.ts';
import type { DpopOptions } from './options.ts';
import { createReplayMemory } from './replays.ts';

/** What a proof must speak of. */
interface ProvenRequest {
  readonly method: string;
  /** The public URL of the request. */
  readonly url: string;
  readonly token: string;
  /** The thumbprint of the key that the token is bound to. */
  readonly thumbprint: string;
  readonly now: number;
}

/** Judges the `DPoP` field of a request. @throws OAuthError `invalid_dpop_proof` or `use_dpop_nonce` */
export type CheckProof = (field: string | null | undefined, request: ProvenRequest) => Promise<void>;

/** A longer field is not looked at. */
const LONGEST_PROOF = 8192;
const LONGEST_ID = 512;

/** What proofs may be signed with where nothing is configured. */
export const PROOF_ALGORITHMS: readonly Algorithm[] = ['ES256', 'EdDSA', 'Ed25519', 'RS256', 'PS256'];

/**
 * Creates the judge of proofs.
 * @see RFC 9449 §4.3 and §7.1
 */
export function createProofCheck(
  options: DpopOptions,
  nonces: Nonces | null,
  clock: () => number,
): CheckProof {
  const algorithms = [...(options.algorithms ?? PROOF_ALGORITHMS)];
  const window = options.window ?? 300;
  const replays = options.replays ?? createReplayMemory(clock);

  return async (field, request) => {
    const { payload, key } = await readProof(field, algorithms);
    const { jti, htm, htu, iat, ath, nonce } = payload;
    if (htm !== request.method) throw invalid('htm is not the method of the request');
    if (!isSameTarget(htu, request.url)) throw invalid('htu is not the URL of the request');
    if (typeof iat !== 'number' || Math.abs(iat - request.now) > window)
      throw invalid('iat is missing or too far off');
    if (ath !== (await digest(request.token))) throw invalid('ath is not the hash of the token');
    if (typeof jti !== 'string' || jti === '' || jti.length > LONGEST_ID)
      throw invalid('jti is missing or too long');
    const thumbprint = await calculateJwkThumbprint(key, 'sha256').catch(() => '');
    if (thumbprint !== request.thumbprint) throw invalid('the key is not the one that the token is bound to');
    if (nonces !== null && !(await nonces.isGood(nonce, request.now))) throw nonceWanted();
    // Last, so that only a proof that is good in all else takes room.
    const seen = await digest(`${thumbprint} ${jti}`);
    // Point of no return: the proof is used up.
    if (!(await replays.remember(seen, iat + window + 1))) throw invalid('the proof was used before');
  };
}

interface Proof {
  readonly payload: Readonly<Record<string, unknown>>;
  readonly key: JWK;
}

/** Reads a proof and verifies its signature by the key that it brings along, which must be a public one. */
async function readProof(field: string | null | undefined, algorithms: Algorithm[]): Promise<Proof> {
  if (field === null || field === undefined || field === '') throw invalid('there is no proof');
  if (field.length > LONGEST_PROOF) throw invalid('the proof is too long');
  // Several fields arrive joined by commas, which no proof holds.
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(field)) throw invalid('there is not one proof in compact form');
  try {
    const { protectedHeader, payload } = await compactVerify(field, EmbeddedJWK, { algorithms });
    if (!/^(?:application\/)?dpop\+jwt$/i.test(protectedHeader.typ ?? ''))
      throw invalid('typ is not dpop+jwt');
    const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
    if (typeof claims !== 'object' || claims === null) throw invalid('the payload is no object');
    return { payload: { ...claims }, key: publicPartOf(protectedHeader.jwk) };
  } catch (cause) {
    if (cause instanceof OAuthError) throw cause;
    throw invalid('the proof is malformed or its signature is wrong', cause);
  }
}

/** The jwk MUST NOT hold a private key. @see RFC 9449 §4.3 (7) */
function publicPartOf(jwk: unknown): JWK {
  if (typeof jwk !== 'object' || jwk === null) throw invalid('the proof has no key');
  if ('d' in jwk || 'k' in jwk || 'p' in jwk) throw invalid('the proof tells a private key');
  return jwk as JWK;
}

/** Without query and fragment, after normalization. @see RFC 9449 §4.3 (9) */
function isSameTarget(htu: unknown, url: string): boolean {
  const claimed = typeof htu === 'string' ? readUrl(htu) : null;
  const actual = URL.parse(url);
  if (claimed === null || actual === null) return false;
  return claimed.origin === actual.origin && normalPath(claimed) === normalPath(actual);
}

/** Percent-encoded letters, digits and marks that need no encoding mean themselves. @see RFC 3986 §6.2.2 */
function normalPath({ pathname }: URL): string {
  return pathname.replace(/%[0-9a-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : code.toUpperCase();
  });
}

async function digest(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return base64url.encode(new Uint8Array(hash));
}

function invalid(reason: string, cause?: unknown): OAuthError {
  const description = 'The DPoP proof is missing, malformed, used before, or not made for this request.';
  return new OAuthError('invalid_dpop_proof', description, { status: 401, reason, cause });
}

function nonceWanted(): OAuthError {
  return new OAuthError('use_dpop_nonce', 'Make the DPoP proof with the nonce of the DPoP-Nonce header.', {
    status: 401,
    reason: 'nonce is missing or old',
  });
}
