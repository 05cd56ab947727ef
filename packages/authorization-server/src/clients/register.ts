/** Dynamic registration: anybody may become a client, with the rights of anybody. */
import { readJson, respondJson } from '@portcullis/http';
import {
  type ClientMetadata,
  openRegistrationPolicy,
  type RegistrationPolicy,
  readClientMetadata,
} from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { ClientRecord } from '../ports/index.ts';
import type { Route } from '../routes.ts';
import { hashSecret, newIdentifier, newSecret } from '../secrets.ts';

/**
 * The registration endpoint.
 * @see RFC 7591 §3
 */
export function createRegistration({ store, redirects, clock, events }: Configuration): Route {
  const policy: RegistrationPolicy = { ...openRegistrationPolicy, redirects };
  return {
    method: 'POST',
    path: '/register',
    crossOrigin: true,
    async handle(request) {
      const metadata = readClientMetadata(await readJson(request, 'invalid_client_metadata'), policy);
      const secret = metadata.token_endpoint_auth_method === 'none' ? null : newSecret();
      const client: ClientRecord = {
        id: newIdentifier('client'),
        origin: 'registered',
        metadata,
        secretHash: secret === null ? null : hashSecret(secret),
        managementHash: null,
        createdAt: clock(),
        lastUsedAt: null,
        expiresAt: null,
      };
      await store.saveClient(client);
      events({ type: 'client.registered', clientId: client.id });
      return respondJson(clientInformation(client, metadata, secret), { status: 201 });
    },
  };
}

/**
 * All metadata that is registered now, defaults and substitutions included. A secret MUST come with its expiry; 0: it has none.
 * @see RFC 7591 §3.2.1
 */
function clientInformation(client: ClientRecord, metadata: ClientMetadata, secret: string | null): object {
  return {
    client_id: client.id,
    client_id_issued_at: client.createdAt,
    ...(secret !== null && { client_secret: secret, client_secret_expires_at: 0 }),
    ...metadata,
  };
}
