/** Verifies client credentials: turns them into an `AuthenticatedClient`, or rejects them with `invalid_client`. */
import { type ClientAuthenticationMethod, OAuthError } from '@portcullis/protocol';
import { equalInConstantTime, hashSecret } from '../secrets.ts';
import { authenticationMethodsOf, type ResolvedClient, UNKNOWN_CLIENT_ID } from './client.ts';
import type { ValidateClientAssertion } from './client-assertion.ts';
import type { FindClient } from './find-client.ts';
import type { ClientCredentials } from './read-client-credentials.ts';

declare const authenticated: unique symbol;

/** Proof that a client authenticated with a method that it registered. Only `VerifyClientCredentials` makes one. */
export interface AuthenticatedClient extends ResolvedClient {
  readonly [authenticated]: true;
  /** `none`: a public client, which only identified itself. */
  readonly authenticationMethod: ClientAuthenticationMethod;
}

/**
 * Authenticates a client by a method that it registered, and by no other.
 * @param site of the request; `null` when it is unknown
 * @throws OAuthError `invalid_client` or `invalid_request`. An unknown client and a wrong secret are indistinguishable.
 * @see OAuth 2.1 draft 13 §2.4 and §3.2.2
 */
export type VerifyClientCredentials = (
  presented: ClientCredentials,
  site: string | null,
) => Promise<AuthenticatedClient>;

/** Compared when a client is unknown or has no secret, so that the time of a rejection reveals nothing of it. */
const DUMMY_HASH = hashSecret('');

export function createVerifyClientCredentials(
  findClient: FindClient,
  checkAssertion: ValidateClientAssertion,
  clock: () => number,
): VerifyClientCredentials {
  return async ({ method, candidates }, site) => {
    let reason = 'unknown client';
    for (const { clientId, proof } of candidates) {
      const client = await findClient(clientId, 'authenticate', site);
      const issue =
        method === 'private_key_jwt'
          ? await assertionIssue(client, proof ?? '', site)
          : secretIssue(client, method, proof, clock());
      if (client !== null && issue === null) {
        return { ...client, authenticationMethod: method } as AuthenticatedClient;
      }
      const isNamed = client !== null || UNKNOWN_CLIENT_ID.test(clientId);
      reason = isNamed ? `${issue}: ${JSON.stringify(clientId.slice(0, 100))}` : `${issue}`;
    }
    throw new OAuthError('invalid_client', 'Client authentication failed.', { reason });
  };

  /** Why the assertion is rejected; `null` when it is valid. */
  async function assertionIssue(
    client: ResolvedClient | null,
    assertion: string,
    site: string | null,
  ): Promise<string | null> {
    return client === null ? 'unknown client' : checkAssertion(client, assertion, site);
  }
}

/** Why the secret is rejected; `null` when it is valid. A secret that was sent is always compared twice, in constant time. */
function secretIssue(
  client: ResolvedClient | null,
  method: ClientCredentials['method'],
  secret: string | null,
  now: number,
): string | null {
  const presented = secret === null ? null : hashSecret(secret);
  const isCurrent = isSecret(presented, client?.secretHash);
  const isPrevious = isSecret(presented, client?.previousSecret?.hash);
  if (client === null) return 'unknown client';
  const registered = authenticationMethodsOf(client.metadata);
  if (!registered.includes(method)) return `${method} was used, ${registered.join(' or ')} is registered`;
  if (method === 'none' || (secret !== '' && client.secretHash !== null && isCurrent)) return null;
  if (secret === '' || client.previousSecret === null || !isPrevious) return 'wrong secret';
  return now < client.previousSecret.expiresAt ? null : 'secret from before a rotation';
}

/** @param presented the hash of the secret that was sent; `null`: a public client sends none */
function isSecret(presented: string | null, stored: string | null | undefined): boolean {
  return presented !== null && equalInConstantTime(presented, stored ?? DUMMY_HASH);
}
