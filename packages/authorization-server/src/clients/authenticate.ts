/** Client authentication: from what a request presents to a client that is proven. */
import { OAuthError, type Parameters } from '@portcullis/protocol';
import { hashSecret, matchesSecret } from '../secrets.ts';
import { type Presented, readPresented } from './presented.ts';
import type { ResolvedClient } from './resolved-client.ts';

declare const authenticated: unique symbol;

/**
 * A client that has authenticated as it registered; a public client has only said who it is, which its missing secret hash
 * tells. Only `authenticateClient` makes one.
 */
export interface AuthenticatedClient extends ResolvedClient {
  readonly [authenticated]: true;
}

/** Stands in for the secret of clients that do not exist or have none, so that all refusals take the same way. */
const NOBODYS_HASH = hashSecret('');

/**
 * Authenticates the client of a request by the method that it registered, and by no other.
 * @throws OAuthError `invalid_client` or `invalid_request`. An unknown client and a wrong secret look alike.
 * @see OAuth 2.1 draft 13 §2.4 and §3.2.2
 */
export async function authenticateClient(
  request: Request,
  form: Parameters,
  findClient: (id: string) => Promise<ResolvedClient | null>,
): Promise<AuthenticatedClient> {
  const presented = readPresented(request.headers.get('authorization'), form);
  let reason = 'unknown client';
  for (const { clientId, secret } of presented.readings) {
    const client = await findClient(clientId);
    const fault = faultOf(client, presented.method, secret);
    if (client !== null && fault === null) return client as AuthenticatedClient;
    reason = `${fault}: ${JSON.stringify(clientId.slice(0, 100))}`;
  }
  throw new OAuthError('invalid_client', 'Client authentication failed.', { reason });
}

/** Why a client is not proven; `null` when it is. Every way compares a secret. */
function faultOf(
  client: ResolvedClient | null,
  method: Presented['method'],
  secret: string | null,
): string | null {
  const matches = matchesSecret(secret ?? '', client?.secretHash ?? NOBODYS_HASH);
  if (client === null) return 'unknown client';
  const registered = client.metadata.token_endpoint_auth_method;
  if (registered !== method) return `${method} was used, ${registered} is registered`;
  // The hash of a public client is nobody's and no secret: nothing to compare.
  return method === 'none' || (client.secretHash !== null && matches) ? null : 'wrong secret';
}
