/** Lists the grants of an account with the names of their apps, servers and permissions. */
import { isUsable } from '../authorization/remembered-consent.ts';
import type { ResolvedClient } from '../clients/client.ts';
import { describeResource } from '../consent/describe-consent.ts';
import { clientDisplayName } from '../display-name.ts';
import type { ServerOptions } from '../options.ts';
import type { PageContext } from '../page-context.ts';
import type { GrantRecord, ProviderTokensRecord } from '../store/index.ts';
import type { Layout } from '../ui/layout.ts';
import type { ListedGrant } from './connections-view.ts';

/** Most recently used first. */
export async function listConnections(
  context: PageContext,
  accountId: string,
): Promise<readonly ListedGrant[]> {
  const { findClient, layout, store, clock } = context;
  const { lifetimes, identityProviders } = context.options;
  const now = clock();
  const [grants, providerTokens] = await Promise.all([
    store.listGrants(accountId, now),
    identityProviders.size === 0 ? [] : store.listProviderTokens(accountId),
  ]);
  const providerTokensOf = new Map(providerTokens.map((tokens) => [tokens.grantId, tokens]));
  // A client whose metadata document is unavailable still has access.
  const clients = await Promise.all(
    grants.map(({ clientId }) => findClient(clientId, 'resume').catch(() => null)),
  );
  return grants.flatMap((grant, index) => {
    const client = clients[index] ?? null;
    if (!isUsable(grant, client, lifetimes, now)) return [];
    const identityProvider = describeLinkedIdentity(context.options, providerTokensOf.get(grant.id));
    return [{ ...describeGrant(context.options, layout, grant, client), identityProvider }];
  });
}

function describeGrant(
  { resources, lifetimes }: ServerOptions,
  layout: Layout,
  grant: GrantRecord,
  client: ResolvedClient | null,
): Omit<ListedGrant, 'identityProvider'> {
  const [resource = ''] = grant.resources;
  const definition = resources.get(resource);
  const { name, address, permissions } = describeResource(definition, resource, grant.scopes, layout);
  return {
    id: grant.id,
    appName: client === null ? layout.text('app.gone') : clientDisplayName(client, layout),
    server: { name, address },
    permissions,
    allowedAt: grant.createdAt,
    lastUsedAt: grant.lastUsedAt,
    lastUsedFrom: grant.lastUsedFrom,
    revocationDelay: Math.min(definition?.revocationDelay ?? lifetimes.accessToken, lifetimes.accessToken),
  };
}

/** The linked identity of a grant. A removed identity provider is shown by its identifier. */
function describeLinkedIdentity(
  { identityProviders }: ServerOptions,
  providerTokens: ProviderTokensRecord | undefined,
): ListedGrant['identityProvider'] {
  if (providerTokens === undefined) return null;
  return {
    name: identityProviders.get(providerTokens.identityProvider)?.name ?? providerTokens.identityProvider,
    as: providerTokens.name,
    scopes: providerTokens.scopes,
  };
}
