/** Client authentication: from what a request presents to a client that is proven. */
import { type ClientAuthenticationMethod, OAuthError } from '@portcullis/protocol';
import { hashSecret, matchesSecret } from '../secrets.ts';
import { authenticationMethodsOf, type ResolvedClient } from './client.ts';
import type { ValidateClientAssertion } from './client-assertion.ts';
import type { FindClient } from './find-client.ts';
import type { ClientCredentials } from './read-client-credentials.ts';

declare const authenticated: unique symbol;

/** A client that has authenticated as it registered. Only `Authenticate` makes one. */
export interface AuthenticatedClient extends ResolvedClient {
  readonly [authenticated]: true;
  /** `none`: it has only said who it is. */
  readonly authenticationMethod: ClientAuthenticationMethod;
}

/**
 * Authenticates the client that a request presents by a method that it registered, and by no other.
 * @param network where the request comes from; `null` when nobody knows
 * @throws OAuthError `invalid_client` or `invalid_request`. An unknown client and a wrong secret look alike.
 * @see OAuth 2.1 draft 13 §2.4 and §3.2.2
 */
export type VerifyClientCredentials = (
  presented: ClientCredentials,
  network: string | null,
) => Promise<AuthenticatedClient>;

/** Stands in for the secret of clients that do not exist or have none, so that all refusals take the same way. */
const NOBODYS_HASH = hashSecret('');

export function createVerifyClientCredentials(
  findClient: FindClient,
  checkAssertion: ValidateClientAssertion,
): VerifyClientCredentials {
  return async ({ method, candidates: readings }, network) => {
    let reason = 'unknown client';
    for (const { clientId, proof } of readings) {
      const client = await findClient(clientId, 'authenticate', network);
      const issue =
        method === 'private_key_jwt'
          ? await assertionIssue(client, proof ?? '', network)
          : secretIssue(client, method, proof);
      if (client !== null && issue === null) {
        return { ...client, authenticationMethod: method } as AuthenticatedClient;
      }
      reason = `${issue}: ${JSON.stringify(clientId.slice(0, 100))}`;
    }
    throw new OAuthError('invalid_client', 'Client authentication failed.', { reason });
  };

  /** Why a client is not proven; `null` when it is. */
  async function assertionIssue(
    client: ResolvedClient | null,
    assertion: string,
    network: string | null,
  ): Promise<string | null> {
    return client === null ? 'unknown client' : checkAssertion(client, assertion, network);
  }
}

/** As `assertionFault`. Whoever presents a secret has it compared, whether there is anything to compare it with or not. */
function secretIssue(
  client: ResolvedClient | null,
  method: ClientCredentials['method'],
  secret: string | null,
): string | null {
  const matches = secret !== null && matchesSecret(secret, client?.secretHash ?? NOBODYS_HASH);
  if (client === null) return 'unknown client';
  const registered = authenticationMethodsOf(client.metadata);
  if (!registered.includes(method)) return `${method} was used, ${registered.join(' or ')} is registered`;
  // The hash of a public client is nobody's and no secret: nothing to compare.
  return method === 'none' || (client.secretHash !== null && matches) ? null : 'wrong secret';
}
