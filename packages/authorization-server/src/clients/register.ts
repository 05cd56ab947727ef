/** The client registration endpoint (RFC 7591): open by default, rate-limited by site and by a quota of unused clients. */
import { type ConnectionInfo, readJsonBody, respondCorsJson } from '@portcullis/http';
import { tooManyRequests } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { Route } from '../http/router.ts';
import { toStoredRateLimit } from '../rate-limit/limiter.ts';
import { siteOf } from '../rate-limit/policies.ts';
import { createSiteQuota } from '../rate-limit/site-quota.ts';
import { hashSecret, newIdentifier, newSecret } from '../secrets.ts';
import type { ClientRecord, InitialAccessTokenRecord, RateLimitCharge } from '../store/index.ts';
import type { ReadStatedMetadata } from './apply-software-statement.ts';
import { checkInitialAccess, invalidInitialAccessToken } from './authorize-registration.ts';
import { usesSecret } from './configured-clients.ts';
import { createRegistrationResponse, findDroppedRedirectUris } from './registration-metadata.ts';
import type { RegistrationRules } from './registration-options.ts';

/**
 * The registration endpoint.
 * @see RFC 7591 §3
 */
export function createRegistrationEndpoint(
  context: ServerContext,
  rules: RegistrationRules,
  read: ReadStatedMetadata,
): Route {
  const { store, clock, events } = context;
  const { issuer, lifetimes, rateLimits } = context.options;
  const isHttps = issuer.startsWith('https:');
  const createResponse = createRegistrationResponse(context.options);
  const quota = createSiteQuota(context, {
    max: rules.maxUnusedClients,
    purpose: 'networks of registrations',
    count: () => store.countUnusedClients(),
    countBySite: () => store.countUnusedClientsByNetwork(),
    rows: 'registration: unused clients',
    exhausted: 'Too many clients have registered and wait for their first use. Try again later.',
    // When the first registrations expire, there is space again.
    retryAfter: 600,
  });
  return {
    method: 'POST',
    path: '/register',
    crossOrigin: true,
    async handle(request, connection) {
      const { metadata, document } = await read(await readJsonBody(request, 'invalid_client_metadata'), null);
      const droppedRedirectUris = findDroppedRedirectUris(document, metadata);
      const initialAccessToken = await checkInitialAccess(request, rules, store, clock());
      const secret = usesSecret(metadata) ? newSecret() : null;
      const managementToken = rules.management ? newSecret() : null;
      const now = clock();
      const client: ClientRecord = {
        id: newIdentifier('client'),
        origin: 'registered',
        metadata,
        secretHash: hashOf(secret),
        previousSecret: null,
        managementHash: hashOf(managementToken),
        createdAt: now,
        lastUsedAt: null,
        disabledAt: null,
        enabledAt: null,
        verifiedAt: null,
        expiresAt: now + lifetimes.unusedClient,
      };
      await save(client, connection, initialAccessToken);
      events({
        type: 'client.registered',
        clientId: client.id,
        ...(initialAccessToken !== null && { initialAccessTokenId: initialAccessToken.id }),
        ...(droppedRedirectUris.length > 0 && { droppedRedirectUris }),
      });
      const response = createResponse(client, { secret, managementToken, droppedRedirectUris });
      return respondCorsJson(response, { isHttps, status: 201 });
    },
  };

  /**
   * Known clients do not register, so a flood of registrations does not affect them. An administrator's initial access token is exempt
   * from quota and rate limit, so others cannot exhaust it.
   */
  async function save(
    client: ClientRecord,
    connection: ConnectionInfo,
    initialAccessToken: InitialAccessTokenRecord | null,
  ): Promise<void> {
    if (initialAccessToken !== null) {
      // The initial access token is consumed in the same atomic operation.
      if (await store.registerClientWithInitialAccessToken(client, initialAccessToken.hash)) return;
      throw invalidInitialAccessToken('used');
    }
    await quota.run(connection, async (site) => {
      const wait = await store.registerClient(client, chargeOf(connection), site);
      if (wait > 0) throw tooManyRequests('too many registrations from one site', wait);
    });
  }

  /** What the store charges when it stores the client; `null`: nothing. */
  function chargeOf(connection: ConnectionInfo): RateLimitCharge | null {
    const site = siteOf(connection);
    if (rateLimits === null || site === null) return null;
    const limit = toStoredRateLimit(rateLimits.registrations);
    return { key: hashSecret(`registrations ${site}`), limit, now: clock() };
  }
}

function hashOf(secret: string | null): string | null {
  return secret === null ? null : hashSecret(secret);
}
