/** The public keys of a client, registered as `jwks` or `jwks_uri`: never private keys, never a private host (SSRF). */
import * as z from 'zod';
import { invalidMetadata } from '../errors.ts';
import {
  hasPrivateMember,
  isKeyOfAlgorithm,
  JWS_ALGORITHMS,
  type JwsAlgorithm,
} from '../jose/jws-algorithms.ts';
import { isPublicHost } from '../parsing/ip-address.ts';

/** A registered JSON Web Key Set. @see RFC 7517 §5 */
export interface ClientKeySet {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

export const clientKeySetSchema: z.ZodType<ClientKeySet> = z.object({
  keys: z.array(z.record(z.string(), z.unknown())).min(1).max(20),
});

/** What a client registered to sign, and the only algorithm for it. */
export interface ClientKeyUse {
  readonly name: string;
  /** Any if it is not given. */
  readonly algorithm: string | undefined;
}

/**
 * Checks the keys of a registration. `jwks` and `jwks_uri` MUST NOT both be present; only public keys may be
 * registered. There must be a key for each use, or the client could never be used.
 * @throws OAuthError `invalid_client_metadata`
 * @see RFC 7591 §2
 */
export function checkClientKeys(
  requested: { readonly jwks?: ClientKeySet; readonly jwks_uri?: string },
  policy: { readonly allowPrivateHosts: boolean; readonly uses: readonly ClientKeyUse[] },
): void {
  const { jwks, jwks_uri: uri } = requested;
  if (jwks !== undefined && uri !== undefined) throw invalidMetadata('jwks: send either jwks or jwks_uri');
  const [use] = policy.uses;
  if (use !== undefined && jwks === undefined && uri === undefined) {
    throw invalidMetadata(`jwks: ${use.name} needs jwks or jwks_uri`);
  }
  if (jwks?.keys.every(isPublicKey) === false)
    throw invalidMetadata('jwks: register public keys only, each with its kty');
  for (const { name, algorithm } of policy.uses) {
    if (jwks?.keys.some((key) => isKeyFor(key, algorithm)) === false)
      throw invalidMetadata(`jwks: ${name} needs a key for ${algorithm}`);
  }
  // A registration must not point this server at its own network (SSRF).
  if (uri !== undefined && !policy.allowPrivateHosts && !isPublicHost(new URL(uri).hostname)) {
    throw invalidMetadata('jwks_uri: must be on a public host');
  }
}

function isPublicKey(key: Readonly<Record<string, unknown>>): boolean {
  const { kty } = key;
  return typeof kty === 'string' && kty !== '' && kty !== 'oct' && !hasPrivateMember(key);
}

function isKeyFor(key: Readonly<Record<string, unknown>>, algorithm: string | undefined): boolean {
  return !isJwsAlgorithm(algorithm) || isKeyOfAlgorithm(key, algorithm);
}

function isJwsAlgorithm(name: string | undefined): name is JwsAlgorithm {
  return name !== undefined && Object.hasOwn(JWS_ALGORITHMS, name);
}
