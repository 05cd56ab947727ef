/** A DPoP proof: that the request was made by whoever holds the key that the token is bound to. */
import { OAuthError, readUrl, temporarilyUnavailable } from '@portcullis/protocol/protected-resource';
import { isBase64url } from '../tokens/base64url.ts';
import { digest } from '../tokens/digest.ts';
import type { Algorithm } from '../tokens/public-keys.ts';
import { invalid, readSegment } from './malformed.ts';
import type { Nonces } from './nonces.ts';
import type { DpopOptions } from './options.ts';
import { createKeyResolver } from './proof-key.ts';
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
 * Creates the judge of proofs. What costs nothing comes first, the signature late: nobody has a signature verified but by
 * the key that the token is bound to.
 * @see RFC 9449 §4.3 and §7.1
 */
export function createProofCheck(
  options: DpopOptions,
  nonces: Nonces | null,
  clock: () => number,
): CheckProof {
  const window = options.window ?? 300;
  const replays = options.replays ?? createReplayMemory(clock);
  const resolveKey = createKeyResolver(options.algorithms ?? PROOF_ALGORITHMS);

  return async (field, request) => {
    const proof = readProof(field);
    const { jti, htm, htu, iat, ath, nonce } = proof.payload;
    if (htm !== request.method) throw invalid('htm is not the method of the request');
    if (!isSameTarget(htu, request.url)) throw invalid('htu is not the URL of the request');
    if (typeof iat !== 'number' || Math.abs(iat - request.now) > window)
      throw invalid('iat is missing or too far off');
    if (typeof jti !== 'string' || jti === '' || jti.length > LONGEST_ID)
      throw invalid('jti is missing or too long');
    if (ath !== (await digest(request.token))) throw invalid('ath is not the hash of the token');
    const key = await resolveKey(proof.header, request.thumbprint);
    if (!(await key.verify(proof.text, proof.signingInput, proof.signature)))
      throw invalid('the signature is wrong');
    if (nonces !== null && !(await nonces.isGood(nonce, request.now))) throw nonceWanted();
    // Last, so that only a proof that is good in all else takes room.
    const seen = await digest(`${request.thumbprint} ${jti}`);
    // Point of no return: the proof is used up.
    if (!(await remember(seen, iat + window + 1, request.thumbprint)))
      throw invalid('the proof was used before');
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

interface Proof {
  readonly text: string;
  /** As base64url: clients write the same one each time. */
  readonly header: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly signingInput: string;
  readonly signature: string;
}

/** Takes a proof apart; nothing in it is believed yet. */
function readProof(field: string | null | undefined): Proof {
  if (field === null || field === undefined || field === '') throw invalid('there is no proof');
  if (field.length > LONGEST_PROOF) throw invalid('the proof is too long');
  // Several fields arrive joined by commas, which no proof holds.
  const [header = '', payload = '', signature = '', ...more] = field.split('.');
  if (more.length > 0 || ![header, payload, signature].every(isBase64url))
    throw invalid('there is not one proof in compact form');
  const signingInput = field.slice(0, field.length - signature.length - 1);
  return { text: field, header, payload: readSegment(payload), signingInput, signature };
}

/** Without query and fragment, after normalization. @see RFC 9449 §4.3 (9) */
function isSameTarget(htu: unknown, url: string): boolean {
  if (htu === url) return true;
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

function nonceWanted(): OAuthError {
  return new OAuthError('use_dpop_nonce', 'Make the DPoP proof with the nonce of the DPoP-Nonce header.', {
    status: 401,
    reason: 'nonce is missing or old',
  });
}
