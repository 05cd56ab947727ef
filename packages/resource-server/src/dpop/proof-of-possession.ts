/** Proof of possession (RFC 9449): verifies the DPoP proof of a bound token, and issues nonces. */
import type { GuardResponse } from '../guard-response.ts';
import { isAtOrBelowResource, requestPath } from '../request-path.ts';
import type { ProtectedResource } from '../settings.ts';
import { createDpopNonces } from './dpop-nonces.ts';
import type { DpopOptions } from './dpop-options.ts';
import { createProofVerifier } from './proof-verifier.ts';

type Headers = Readonly<Record<string, string>>;

/** The part of a request that a proof covers. */
interface ProvableRequest {
  readonly method: string;
  readonly url: string;
  readonly dpop?: string | null | undefined;
}

export interface ProofOfPossession {
  /** Verifies the proof of a request. @throws OAuthError `invalid_dpop_proof` or `use_dpop_nonce` */
  check(
    binding: { readonly token: string; readonly thumbprint: string },
    resource: ProtectedResource,
    request: ProvableRequest,
  ): Promise<void>;
  /** Adds the nonce for the next proof, if nonces are required. */
  addNonce(headers: Headers): Promise<Headers>;
  /** Adds a nonce to an error that asks for one. */
  addNonceToError(guardResponse: GuardResponse, error: unknown): Promise<GuardResponse>;
}

const DEFAULT_LIFETIME = 150;

/** Creates the check of proof of possession. @see RFC 9449 §7 and §9 */
export function createProofOfPossession(options: DpopOptions, clock: () => number): ProofOfPossession {
  const { secret, lifetime = DEFAULT_LIFETIME } = options.nonces ?? {};
  const nonces = secret === undefined ? null : createDpopNonces(secret, lifetime);
  const checkProof = createProofVerifier(options, nonces, clock);

  async function addNonce(headers: Headers): Promise<Headers> {
    return nonces === null ? headers : { ...headers, 'dpop-nonce': await nonces.current(clock()) };
  }

  return {
    addNonce,
    check: (binding, resource, { method, url, dpop }) =>
      checkProof(dpop, { method, url: publicUrl(resource, url), now: clock(), ...binding }),
    async addNonceToError(guardResponse, error) {
      const isWanted = (error as { code?: unknown } | null)?.code === 'use_dpop_nonce';
      return isWanted ? { ...guardResponse, headers: await addNonce(guardResponse.headers) } : guardResponse;
    },
  };
}

/** The URL that the client used: on the configured origin, or the resource itself if a proxy has stripped its path. */
function publicUrl(resource: ProtectedResource, target: string): string {
  const path = requestPath(target);
  return isAtOrBelowResource(resource, path) ? `${resource.origin}${path}` : resource.resource;
}
