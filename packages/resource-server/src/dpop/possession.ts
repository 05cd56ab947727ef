/** Possession: that whoever presents a bound token holds its key, and the nonces that go with it. */
import type { GuardAnswer } from '../answers.ts';
import type { ProtectedResource } from '../configuration.ts';
import { isWithin, pathOf } from '../target.ts';
import { createNonces } from './nonces.ts';
import type { DpopOptions } from './options.ts';
import { createProofCheck } from './proof.ts';

type Headers = Readonly<Record<string, string>>;

/** A request, as far as a proof speaks of it. */
interface Claimed {
  readonly method: string;
  readonly url: string;
  readonly dpop?: string | null | undefined;
}

export interface Possession {
  /** @throws OAuthError `invalid_dpop_proof` or `use_dpop_nonce` */
  check(
    binding: { readonly token: string; readonly thumbprint: string },
    resource: ProtectedResource,
    request: Claimed,
  ): Promise<void>;
  /** Adds the nonce for the next proof, where nonces are demanded. */
  addNonce(headers: Headers): Promise<Headers>;
  /** Adds it to a refusal that asks for one. */
  withNonce(answer: GuardAnswer, error: unknown): Promise<GuardAnswer>;
}

const DEFAULT_LIFETIME = 150;

/** Creates the judge of possession. @see RFC 9449 §7 and §9 */
export function createPossession(options: DpopOptions, clock: () => number): Possession {
  const { secret, lifetime = DEFAULT_LIFETIME } = options.nonces ?? {};
  const nonces = secret === undefined ? null : createNonces(secret, lifetime);
  const checkProof = createProofCheck(options, nonces, clock);

  async function addNonce(headers: Headers): Promise<Headers> {
    return nonces === null ? headers : { ...headers, 'dpop-nonce': await nonces.current(clock()) };
  }

  return {
    addNonce,
    check: (binding, resource, { method, url, dpop }) =>
      checkProof(dpop, { method, url: publicUrl(resource, url), now: clock(), ...binding }),
    async withNonce(answer, error) {
      const isWanted = (error as { code?: unknown } | null)?.code === 'use_dpop_nonce';
      return isWanted ? { ...answer, headers: await addNonce(answer.headers) } : answer;
    },
  };
}

/** The URL that the client asked for: of the configured origin, and the resource itself where a proxy took its path off. */
function publicUrl(resource: ProtectedResource, target: string): string {
  const path = pathOf(target);
  return isWithin(resource, path) ? `${resource.origin}${path}` : resource.resource;
}
