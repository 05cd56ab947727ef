/** DPoP at the authorization server: verifies proofs at its endpoints, and issues nonces that all processes accept. */
import { createHmac, createSecretKey, hash } from 'node:crypto';
import type { HttpRequest } from '@portcullis/http';
import {
  createDpopNonces,
  createLruCache,
  createProofVerifier,
  OAuthError,
  PROOF_WINDOW,
  type ProofKey,
  type VerifiedProof,
} from '@portcullis/protocol';
import { deriveKey } from '../encryption/encryptor.ts';
import type { EncryptionOptions } from '../encryption/options.ts';
import type { DpopContext } from './options.ts';
import { proofAlgorithms, readProofKey } from './proof-keys.ts';

/** Keys of proofs in the cache. */
const CACHED_KEYS = 1000;

export type DpopProofs = ReturnType<typeof createDpopProofs>;

/** Whether a request has a proof to verify. */
export function hasProof({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  return headers.has('dpop');
}

/** @see RFC 9449 §4.3, §5 and §8 */
export function createDpopProofs({ store, clock, options }: DpopContext) {
  const { origin } = new URL(options.issuer);
  const { secret, previousSecrets } = deriveNonceSecrets(options);
  const nonces = createDpopNonces(
    [secret, ...previousSecrets].map((one) => {
      const key = createSecretKey(one);
      return (text) => createHmac('sha256', key).update(text).digest('base64url');
    }),
  );
  const verify = createProofVerifier(
    {
      algorithms: proofAlgorithms,
      window: PROOF_WINDOW,
      nonces,
      requiresNonce: options.requireDpopNonces,
      remember: (proof, until) => store.consumeClientAssertion(`dpop:${proof}`, until),
    },
    {
      hash: (text) => hash('sha256', text, 'base64url'),
      readKey: readProofKey,
      keys: createLruCache<ProofKey>({ entries: CACHED_KEYS }),
    },
  );

  return {
    /**
     * Verifies the proof of a POST to an endpoint, which has one (`hasProof`). It is not marked as used yet.
     * @throws OAuthError `invalid_dpop_proof`, or `use_dpop_nonce` with the nonce to use
     * @see RFC 9449 §5
     */
    async verify({ headers, method }: HttpRequest, path: string): Promise<VerifiedProof> {
      const field = headers.get('dpop') ?? '';
      const expected = { method, url: `${origin}${path}`, token: null, thumbprint: null, now: clock() };
      try {
        return await verify(field, expected);
      } catch (error) {
        throw await withNonce(error);
      }
    },
    /** The header with the nonce for the next proof of a client that sent one. @see RFC 9449 §8.2 */
    nonceHeaders: async (): Promise<Readonly<Record<string, string>>> => ({
      'dpop-nonce': await nonces.current(clock()),
    }),
  };

  async function withNonce(error: unknown): Promise<unknown> {
    if (!(error instanceof OAuthError) || error.code !== 'use_dpop_nonce') return error;
    const { code, description, reason = '' } = error;
    return new OAuthError(code, description, { reason, dpopNonce: await nonces.current(clock()) });
  }
}

/** Processes share the master key. While it is replaced, those that know both accept each other's nonces. */
export function deriveNonceSecrets({ masterKey, previousMasterKeys }: EncryptionOptions): NonceSecrets {
  const secretFrom = (from: Uint8Array) => deriveKey(from, 'DPoP nonces');
  return { secret: secretFrom(masterKey), previousSecrets: previousMasterKeys.map(secretFrom) };
}

/** Secrets of DPoP nonces. */
export interface NonceSecrets {
  readonly secret: Uint8Array;
  /** Accepted besides. */
  readonly previousSecrets: readonly Uint8Array[];
}

/**
 * The key that a token is going to be bound to: that of the proof.
 * @param required the only key that is allowed; `null`: any, or none unless the client registered for bound tokens
 * @throws OAuthError `invalid_dpop_proof`
 * @see RFC 9449 §5, §5.2 and §10
 */
export function checkProofKey(proof: VerifiedProof | null, required: string | null, boundBy: string): void {
  if (required === null || proof?.thumbprint === required) return;
  throw new OAuthError(
    'invalid_dpop_proof',
    `Send a DPoP proof made with the key that the ${boundBy} is bound to.`,
    { reason: proof === null ? 'the proof is missing' : 'the key is another' },
  );
}
