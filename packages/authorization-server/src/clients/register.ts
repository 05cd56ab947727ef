/** Dynamic registration: anybody may become a client, with the rights of anybody. */
import { type ConnectionInfo, readJsonBody, respondCorsJson } from '@portcullis/http';
import { tooManyRequests } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { Limits } from '../limits/limits.ts';
import type { Route } from '../routes.ts';
import { hashSecret, newIdentifier, newSecret } from '../secrets.ts';
import type { ClientRecord } from '../store/index.ts';
import { type Admission, createAdmitRegistration, refuseInitialAccess } from './admit-registration.ts';
import { usesSecret } from './configured.ts';
import { createDescribeClient, createReadRegistration } from './registration.ts';
import type { RegistrationRules } from './registration-options.ts';

/**
 * The registration endpoint.
 * @see RFC 7591 §3
 */
export function createRegistration(
  configuration: Configuration,
  rules: RegistrationRules,
  turnOf: Limits['registrationTurn'],
): Route {
  const { store, clock, events, issuer, lifetimes } = configuration;
  const isHttps = issuer.startsWith('https:');
  const describe = createDescribeClient(configuration);
  const admit = createAdmitRegistration(configuration, rules);
  const read = createReadRegistration(configuration);
  return {
    method: 'POST',
    path: '/register',
    crossOrigin: true,
    async handle(request, connection) {
      const metadata = read(await readJsonBody(request, 'invalid_client_metadata'));
      const admission = await admit(request, connection);
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
      const { invitation, end } = admission;
      await save(client, connection, admission).catch((error: unknown) => {
        end(false);
        throw error;
      });
      end(true);
      events({
        type: 'client.registered',
        clientId: client.id,
        ...(invitation !== null && { initialAccessTokenId: invitation.id }),
      });
      return respondCorsJson(describe(client, { secret, managementToken }), { isHttps, status: 201 });
    },
  };

  /** Who is known already does not come this way, so a flood of registrations keeps nobody from working. */
  async function save(
    client: ClientRecord,
    connection: ConnectionInfo,
    { invitation, network }: Admission,
  ): Promise<void> {
    if (invitation !== null) {
      // It is their turn as well.
      if (await store.registerClientWithInitialAccessToken(client, invitation.hash)) return;
      throw refuseInitialAccess('used');
    }
    const wait = await store.registerClient(client, turnOf(connection), network);
    if (wait > 0) throw tooManyRequests('too many registrations from one network', wait);
  }
}

function hashOf(secret: string | null): string | null {
  return secret === null ? null : hashSecret(secret);
}
