/** Dynamic registration: anybody may become a client, with the rights of anybody. */
import { readJson, respondToClient } from '@portcullis/http';
import type { Configuration } from '../configuration.ts';
import type { ClientRecord } from '../ports/index.ts';
import type { Route } from '../routes.ts';
import { hashSecret, newIdentifier, newSecret } from '../secrets.ts';
import { usesSecret } from './configured.ts';
import { clientInformation, createReadRegistration } from './registration.ts';
import { createAdmitRegistration, type RegistrationRules } from './registration-rules.ts';

/**
 * The registration endpoint.
 * @see RFC 7591 §3
 */
export function createRegistration(configuration: Configuration, rules: RegistrationRules): Route {
  const { store, clock, events, issuer, lifetimes } = configuration;
  const isHttps = issuer.startsWith('https:');
  const admit = createAdmitRegistration(configuration, rules);
  const read = createReadRegistration(configuration);
  return {
    method: 'POST',
    path: '/register',
    crossOrigin: true,
    async handle(request, peer) {
      const metadata = read(await readJson(request, 'invalid_client_metadata'));
      await admit(request, peer);
      const secret = usesSecret(metadata) ? newSecret() : null;
      const managementToken = rules.management ? newSecret() : null;
      const now = clock();
      const client: ClientRecord = {
        id: newIdentifier('client'),
        origin: 'registered',
        metadata,
        secretHash: hashOf(secret),
        managementHash: hashOf(managementToken),
        createdAt: now,
        lastUsedAt: null,
        disabledAt: null,
        expiresAt: now + lifetimes.unusedClient,
      };
      await store.saveClient(client);
      events({ type: 'client.registered', clientId: client.id });
      const answer = clientInformation(client, issuer, { secret, managementToken });
      return respondToClient(answer, { isHttps, status: 201 });
    },
  };
}

function hashOf(secret: string | null): string | null {
  return secret === null ? null : hashSecret(secret);
}
