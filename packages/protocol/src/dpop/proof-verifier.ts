/** Verifies DPoP proofs, for both servers: signature, method, URL, time, token hash, nonce and replay (RFC 9449). */
import { OAuthError, temporarilyUnavailable } from '../errors.ts';
import { isBase64url } from '../jose/base64url.ts';
import type { JwsAlgorithm } from '../jose/jws-algorithms.ts';
import { readUrl } from '../parsing/web-url.ts';
import type { DpopNonces } from './dpop-nonces.ts';
import { createKeyResolver, invalidProof, type ProofPlatform, parseProofSegment } from './proof-key.ts';

/** What a proof must match. */
interface ProofExpectations {
  readonly method: string;
  /** The public URL of the request. */
  readonly url: string;
  /** The access token that it accompanies; `null` at an endpoint of the authorization server. */
  readonly token: string | null;
  /** The thumbprint of the key that is wanted; `null`: any key. */
  readonly thumbprint: string | null;
  readonly now: number;
}

/** A verified proof. */
export interface VerifiedProof {
  /** The thumbprint of its key. */
  readonly thumbprint: string;
  /**
   * Marks it as used.
   * @throws OAuthError `invalid_dpop_proof` if it was used before, `temporarily_unavailable`
   */
  consume(): Promise<void>;
}

interface ProofPolicy {
  readonly algorithms: readonly JwsAlgorithm[];
  /** Seconds by which the time of a proof may differ, either way. */
  readonly window: number;
  /** `null`: proofs carry none, and one that does is accepted. */
  readonly nonces: DpopNonces | null;
  /** Whether a proof without a nonce is rejected. An outdated nonce always is. */
  readonly requiresNonce: boolean;
  /**
   * Stores a proof; `false` if it is stored already.
   * @param proof a digest of key thumbprint and `jti`
   * @param until epoch seconds after which it may be deleted
   * @param key the thumbprint
   */
  remember(proof: string, until: number, key: string): boolean | Promise<boolean>;
}

/**
 * Verifies the `DPoP` header of a request, without marking it as used.
 * @throws OAuthError `invalid_dpop_proof` or `use_dpop_nonce`
 */
type VerifyProof = (field: string | null | undefined, expected: ProofExpectations) => Promise<VerifiedProof>;

/** Longer headers are rejected unread. */
const LONGEST_PROOF = 8192;
const LONGEST_ID = 512;

/** Seconds by which the time of a proof may differ, by default. */
export const PROOF_WINDOW = 300;

/** Seconds by which the client's clock may differ where a proof has a lifetime of its own. */
const CLOCK_TOLERANCE = 30;

/** Allowed signature algorithms by default. */
export const PROOF_ALGORITHMS: readonly JwsAlgorithm[] = ['ES256', 'EdDSA', 'Ed25519', 'RS256', 'PS256'];

/**
 * Creates the verifier of proofs. Cheap checks come first and the signature late, after the key has been matched with
 * the token.
 * @see RFC 9449 §4.3 and §7.1
 */
export function createProofVerifier(
  { algorithms, window, nonces, requiresNonce, remember }: ProofPolicy,
  platform: ProofPlatform,
): VerifyProof {
  const resolveKey = createKeyResolver(algorithms, platform);

  return async (field, expected) => {
    const proof = readProof(field);
    const { jti, iat, ath, nonce } = proof.payload;
    checkRequest(proof.payload, expected);
    if (typeof iat !== 'number' || Math.abs(iat - expected.now) > window)
      throw invalidProof('iat is missing or too far off');
    checkLifetime(proof.payload, expected.now);
    if (typeof jti !== 'string' || jti === '' || jti.length > LONGEST_ID)
      throw invalidProof('jti is missing or too long');
    if (expected.token !== null && ath !== (await platform.hash(expected.token)))
      throw invalidProof('ath is not the hash of the token');
    const { key, thumbprint } = await resolveKey(proof.header, expected.thumbprint);
    if (!(await key.verify(proof.text, proof.signingInput, proof.signature)))
      throw invalidProof('the signature is wrong');
    await checkNonce(nonce, expected.now);
    return { thumbprint, consume: () => consume(thumbprint, jti, iat) };
  };

  async function checkNonce(nonce: unknown, now: number): Promise<void> {
    if (nonces === null || (nonce === undefined && !requiresNonce)) return;
    if (!(await nonces.isValid(nonce, now))) throw nonceRequired();
  }

  async function consume(thumbprint: string, jti: string, iat: number): Promise<void> {
    const digest = await platform.hash(`${thumbprint} ${jti}`);
    // Point of no return: the proof is used.
    if (!(await rememberOrFail(digest, iat + window + 1, thumbprint)))
      throw invalidProof('the proof was used before');
  }

  async function rememberOrFail(proof: string, until: number, key: string): Promise<boolean> {
    try {
      return await remember(proof, until, key);
    } catch (error) {
      if (error instanceof OAuthError) throw error;
      throw temporarilyUnavailable('the store of proofs failed', 5, error);
    }
  }
}

function checkRequest(
  { htm, htu }: Readonly<Record<string, unknown>>,
  { method, url }: ProofExpectations,
): void {
  if (htm !== method) throw invalidProof('htm is not the method of the request');
  if (!isSameUrl(htu, url)) throw invalidProof('htu is not the URL of the request');
}

/** A JWT MUST NOT be accepted after `exp` or before `nbf`, which proofs need not have. @see RFC 7519 §4.1.4 and §4.1.5 */
function checkLifetime({ exp, nbf }: Readonly<Record<string, unknown>>, now: number): void {
  if (exp !== undefined && !(typeof exp === 'number' && now < exp + CLOCK_TOLERANCE))
    throw invalidProof('exp is in the past');
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf - CLOCK_TOLERANCE <= now))
    throw invalidProof('nbf is in the future');
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
    reason: 'nonce is missing or old',
  });
}
