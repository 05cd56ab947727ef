/** Proof of possession (RFC 9449): verifies the DPoP proof of a bound token, and issues nonces. */
import {
  createDpopNonces,
  createLruCache,
  createProofVerifier,
  type DpopNonces,
  encodeBase64url,
  OAuthError,
  PROOF_ALGORITHMS,
  PROOF_WINDOW,
  type ProofKey,
  type ProofPlatform,
} from '@portcullis/protocol';
import type { GuardResponse } from '../guard-response.ts';
import type { RequestInfo } from '../request-info.ts';
import { type HasPath, isAtOrBelowResource, requestPath } from '../request-path.ts';
import { digest } from '../verifiers/node-crypto.ts';
import { readPublicKey } from '../verifiers/public-keys.ts';
import type { DpopOptions } from './dpop-options.ts';
import { createReplayCache } from './replay-cache.ts';

type Headers = Readonly<Record<string, string>>;

/** The part of a protected resource that a proof covers. */
interface ProvableResource extends HasPath {
  readonly resource: string;
  readonly origin: string;
}

export type ProofOfPossession = ReturnType<typeof createProofOfPossession>;

/** Recently used keys, by the proof header that contains them. */
const KEY_CACHE_LIMITS = { entries: 1000, characters: 1000 * 512 };

/** Creates the check of proof of possession. @see RFC 9449 §7 and §9 */
export function createProofOfPossession(options: DpopOptions, clock: () => number) {
  const nonces = createNonces(options);
  const replays = options.replays ?? createReplayCache(clock);
  const platform: ProofPlatform = {
    hash: digest,
    readKey: readPublicKey,
    keys: createLruCache<ProofKey>(KEY_CACHE_LIMITS),
  };
  const { algorithms = PROOF_ALGORITHMS, window = PROOF_WINDOW } = options;
  const requiresNonce = options.nonces?.required ?? true;
  const remember = replays.remember.bind(replays);
  const verify = createProofVerifier({ algorithms, window, nonces, requiresNonce, remember }, platform);

  /** Adds the nonce for the next proof, if nonces are issued. */
  async function addNonce(headers: Headers): Promise<Headers> {
    return nonces === null ? headers : { ...headers, 'dpop-nonce': await nonces.current(clock()) };
  }

  return {
    addNonce,
    /** Verifies the proof of a request. @throws OAuthError `invalid_dpop_proof` or `use_dpop_nonce` */
    async check(
      binding: { readonly token: string; readonly thumbprint: string },
      resource: ProvableResource,
      { method, url, dpop }: Pick<RequestInfo, 'method' | 'url' | 'dpop'>,
    ): Promise<void> {
      const expected = { method, url: publicUrl(resource, url), now: clock(), ...binding };
      try {
        await (await verify(dpop, expected)).consume();
      } catch (error) {
        throw asResource(error);
      }
    },
    /** Adds a nonce to an error that asks for one. */
    async addNonceToError(guardResponse: GuardResponse, error: unknown): Promise<GuardResponse> {
      const isWanted = (error as { code?: unknown } | null)?.code === 'use_dpop_nonce';
      return isWanted ? { ...guardResponse, headers: await addNonce(guardResponse.headers) } : guardResponse;
    },
  };
}

function createNonces({ nonces }: DpopOptions): DpopNonces | null {
  if (nonces === undefined) return null;
  const { secret, previousSecrets = [], lifetime } = nonces;
  return createDpopNonces([secret, ...previousSecrets].map(authenticateBy), lifetime);
}

function authenticateBy(secret: Uint8Array): (text: string) => Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = crypto.subtle.importKey('raw', new Uint8Array(secret), algorithm, false, ['sign']);
  return async (text) => {
    const tag = await crypto.subtle.sign('HMAC', await key, new TextEncoder().encode(text));
    return encodeBase64url(new Uint8Array(tag));
  };
}

/** A protected resource responds with status 401, and the authorization server with 400. @see RFC 9449 §7.1 */
function asResource(error: unknown): unknown {
  if (!(error instanceof OAuthError) || !['invalid_dpop_proof', 'use_dpop_nonce'].includes(error.code))
    return error;
  const { code, description, reason, cause } = error;
  return new OAuthError(code, description, { status: 401, ...(reason !== undefined && { reason }), cause });
}

/** The URL that the client used: on the configured origin, or the resource itself if a proxy has stripped its path. */
function publicUrl(resource: ProvableResource, target: string): string {
  const path = requestPath(target);
  return isAtOrBelowResource(resource, path) ? `${resource.origin}${path}` : resource.resource;
}
