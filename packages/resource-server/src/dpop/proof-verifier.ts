/** Verifies DPoP proofs: signature, method, URL, time, token hash, nonce and replay. */
import { OAuthError, readUrl, temporarilyUnavailable } from '@portcullis/protocol/protected-resource';
import { isBase64url } from '../verifiers/base64url.ts';
import { digest } from '../verifiers/node-crypto.ts';
import type { JwsAlgorithm } from '../verifiers/public-keys.ts';
import type { DpopNonces } from './dpop-nonces.ts';
import type { DpopOptions } from './dpop-options.ts';
import { createKeyResolver, invalidProof, parseProofSegment } from './proof-key.ts';
import { createReplayCache } from './replay-cache.ts';

/** What a proof must match. */
interface ProofExpectations {
  readonly method: string;
  /** The public URL of the request. */
  readonly url: string;
  readonly token: string;
  /** The thumbprint of the key that the token is bound to. */
  readonly thumbprint: string;
  readonly now: number;
}

/** Verifies the `DPoP` header of a request. @throws OAuthError `invalid_dpop_proof` or `use_dpop_nonce` */
export type VerifyProof = (field: string | null | undefined, request: ProofExpectations) => Promise<void>;

/** Longer headers are rejected unread. */
const LONGEST_PROOF = 8192;
const LONGEST_ID = 512;

/** Allowed signature algorithms by default. */
export const PROOF_ALGORITHMS: readonly JwsAlgorithm[] = ['ES256', 'EdDSA', 'Ed25519', 'RS256', 'PS256'];

/**
 * Creates the verifier of proofs. Cheap checks come first and the signature late, after the key has been matched with
 * the token.
 * @see RFC 9449 §4.3 and §7.1
 */
export function createProofVerifier(
  options: DpopOptions,
  nonces: DpopNonces | null,
  clock: () => number,
): VerifyProof {
  const window = options.window ?? 300;
  const replays = options.replays ?? createReplayCache(clock);
  const resolveKey = createKeyResolver(options.algorithms ?? PROOF_ALGORITHMS);

  return async (field, request) => {
    const proof = readProof(field);
    const { jti, htm, htu, iat, ath, nonce } = proof.payload;
    if (htm !== request.method) throw invalidProof('htm is not the method of the request');
    if (!isSameUrl(htu, request.url)) throw invalidProof('htu is not the URL of the request');
    if (typeof iat !== 'number' || Math.abs(iat - request.now) > window)
      throw invalidProof('iat is missing or too far off');
    if (typeof jti !== 'string' || jti === '' || jti.length > LONGEST_ID)
      throw invalidProof('jti is missing or too long');
    if (ath !== (await digest(request.token))) throw invalidProof('ath is not the hash of the token');
    const key = await resolveKey(proof.header, request.thumbprint);
    if (!(await key.verify(proof.text, proof.signingInput, proof.signature)))
      throw invalidProof('the signature is wrong');
    if (nonces !== null && !(await nonces.isValid(nonce, request.now))) throw nonceRequired();
    // Last, so that only otherwise valid proofs use space.
    const seen = await digest(`${request.thumbprint} ${jti}`);
    // Point of no return: the proof is used.
    if (!(await remember(seen, iat + window + 1, request.thumbprint)))
      throw invalidProof('the proof was used before');
  };

  async function remember(proof: string, until: number, key: string): Promise<boolean> {
    try {
      return await replays.remember(proof, until, key);
    } catch (error) {
      if (error instanceof OAuthError) throw error;
      throw temporarilyUnavailable('the store of proofs failed', 5, error);
    }
  }
}

interface DpopProof {
  readonly text: string;
  /** The header in base64url; a client sends the same one each time. */
  readonly header: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly signingInput: string;
  readonly signature: string;
}

/** Splits a proof; nothing in it is trusted yet. */
function readProof(field: string | null | undefined): DpopProof {
  if (field === null || field === undefined || field === '') throw invalidProof('the proof is missing');
  if (field.length > LONGEST_PROOF) throw invalidProof('the proof is too long');
  // Repeated headers are joined by commas, which proofs do not contain.
  const [header = '', payload = '', signature = '', ...more] = field.split('.');
  if (more.length > 0 || ![header, payload, signature].every(isBase64url))
    throw invalidProof('the header is not a single proof in compact form');
  const signingInput = field.slice(0, field.length - signature.length - 1);
  return { text: field, header, payload: parseProofSegment(payload), signingInput, signature };
}

/** Compares URLs without query and fragment, after normalization. @see RFC 9449 §4.3 (9) */
function isSameUrl(htu: unknown, url: string): boolean {
  if (htu === url) return true;
  const claimed = typeof htu === 'string' ? readUrl(htu) : null;
  const actual = URL.parse(url);
  if (claimed === null || actual === null) return false;
  return claimed.origin === actual.origin && normalizedPath(claimed) === normalizedPath(actual);
}

/** Decodes percent-encoded unreserved characters. @see RFC 3986 §6.2.2 */
function normalizedPath({ pathname }: URL): string {
  return pathname.replace(/%[0-9a-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : code.toUpperCase();
  });
}

function nonceRequired(): OAuthError {
  return new OAuthError('use_dpop_nonce', 'Use the nonce of the DPoP-Nonce header in the DPoP proof.', {
    status: 401,
    reason: 'nonce is missing or old',
  });
}
