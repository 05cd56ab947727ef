/** Lists the grants of an account page by page, with the names of their apps, servers and permissions. */
import type { PageContext } from '../authorization/page-context.ts';
import { isUsable } from '../authorization/remembered-consent.ts';
import { PERSONAL_ACCESS_TOKEN_CLIENT, type ResolvedClient } from '../clients/client.ts';
import { clientLogoPath } from '../consent/client-logos.ts';
import { describeResource, verifierOf } from '../consent/describe-consent.ts';
import { clientDisplayName } from '../display-name.ts';
import type { GrantPosition, GrantRecord, ProviderTokensRecord } from '../store/index.ts';
import type { Layout } from '../ui/layout.ts';
import { findLiveGrant } from '../users/administer-connections.ts';
import type { LinkedProvider, ListedGrant } from './connections-view.ts';

/** Connections of a page. */
const PAGE = 50;
/** Grants that one request reads, however few of them match a search. */
const MAX_READ = 500;

/** Which connections a page shows. */
interface ConnectionsQuery {
  /** The end of the previous page. */
  readonly after: GrantPosition | null;
  /** Part of the name of an app or server; empty: all. */
  readonly search: string;
}

interface ConnectionList {
  /** Most recently used first. */
  readonly connections: readonly ListedGrant[];
  /** Where the next page begins; `null`: there is none. */
  readonly next: GrantPosition | null;
}

/** At most a page of connections, found by an index, whatever number the account has. */
export async function listConnections(
  context: PageContext,
  accountId: string,
  { after, search }: ConnectionsQuery = { after: null, search: '' },
): Promise<ConnectionList> {
  const { store, clock } = context;
  const now = clock();
  const found: ListedGrant[] = [];
  let [position, read] = [after, 0];
  while (read < MAX_READ) {
    const grants = await store.listGrants(accountId, now, position, PAGE + 1);
    const batch = grants.slice(0, PAGE - found.length);
    const listed = await Promise.all(batch.map((grant) => listGrant(context, grant, now)));
    found.push(...listed.filter((one) => one !== null).filter((one) => matches(one, search)));
    position = batch.at(-1) ?? position;
    read += batch.length;
    if (batch.length === grants.length) return { connections: byLastUse(found), next: null };
    if (found.length >= PAGE) break;
  }
  return { connections: byLastUse(found), next: position };
}

/** One connection of an account; none when it has none with this identifier. */
export async function findConnection(
  context: PageContext,
  accountId: string,
  id: string,
): Promise<ConnectionList> {
  const grant = await findLiveGrant(context, id);
  const listed = grant?.accountId === accountId ? await listGrant(context, grant, context.clock()) : null;
  return { connections: listed === null ? [] : [listed], next: null };
}

function byLastUse(connections: readonly ListedGrant[]): readonly ListedGrant[] {
  return connections.toSorted((one, other) => other.lastUsedAt - one.lastUsedAt);
}

function matches({ appName, publisher, server }: ListedGrant, search: string): boolean {
  const host = typeof publisher === 'object' && 'host' in publisher ? publisher.host : '';
  const words = `${appName} ${host} ${server.name} ${server.address}`.toLocaleLowerCase();
  return words.includes(search.toLocaleLowerCase());
}

/** `null` when no token of the grant can be used. */
async function listGrant(context: PageContext, grant: GrantRecord, now: number): Promise<ListedGrant | null> {
  const { findClient, layout, store, options, connections } = context;
  if (grant.clientId === PERSONAL_ACCESS_TOKEN_CLIENT) return listToken(context, grant);
  // A client whose metadata document is unavailable still has access.
  const client = await findClient(grant.clientId, 'resume').catch(() => null);
  if (!isUsable(grant, client, options.lifetimes, now)) return null;
  const tokens = options.identityProviders.size === 0 ? null : await store.findProviderTokens(grant.id);
  const connected = await connections.listConnected(grant.id);
  return {
    ...describeGrant(options, layout, grant, client),
    identityProvider: tokens === null ? null : describeLinkedIdentity(options, tokens),
    connected: connected.map((account) => ({ ...account, as: null })),
  };
}

/** A personal access token is listed until it expires, used or not. */
async function listToken({ store, options, layout }: PageContext, grant: GrantRecord): Promise<ListedGrant> {
  const token = await store.findPersonalAccessToken(grant.id);
  return {
    ...describeGrant(options, layout, grant, null),
    appName: token?.name ?? layout.text('tokens.new'),
    publisher: { tokenUntil: grant.expiresAt },
    revocationDelay: REVOCATION_DELAY,
    identityProvider: null,
    connected: [],
  };
}

/** Seconds for which guards cache an introspection response by default. */
const REVOCATION_DELAY = 10;

function describeGrant(
  { resources, lifetimes }: PageContext['options'],
  layout: Layout,
  grant: GrantRecord,
  client: ResolvedClient | null,
): Omit<ListedGrant, 'identityProvider' | 'connected'> {
  const [resource = ''] = grant.resources;
  const definition = resources.get(resource);
  const { name, address, permissions } = describeResource(definition, resource, grant.scopes, layout);
  return {
    id: grant.id,
    clientId: grant.clientId,
    appName: client === null ? layout.text('app.gone') : clientDisplayName(client, layout),
    logoPath: client === null ? null : clientLogoPath(client),
    publisher: client === null ? 'unverified' : verifierOf(client),
    server: { name, address },
    permissions,
    allowedAt: grant.createdAt,
    lastUsedAt: grant.lastUsedAt,
    lastUsedFrom: grant.lastUsedFrom,
    managedBy: grant.managedBy ?? null,
    revocationDelay: Math.min(definition?.revocationDelay ?? lifetimes.accessToken, lifetimes.accessToken),
  };
}

/** The linked identity of a grant. A removed provider is shown by its identifier. */
function describeLinkedIdentity(
  { identityProviders }: PageContext['options'],
  { identityProvider, name, scopes }: ProviderTokensRecord,
): LinkedProvider {
  return { name: identityProviders.get(identityProvider)?.name ?? identityProvider, as: name, scopes };
}
