/** What a person has allowed a client on a resource already: read from the grants that stand, so that it ends with them. */

import {
  missingScopes,
  type RedirectTarget,
  type Scopes,
  temporarilyUnavailable,
  unionScopes,
} from '@portcullis/protocol';
import type { ResolvedClient } from '../clients/client.ts';
import type { ServerContext } from '../context.ts';
import type { Lifetimes } from '../lifetimes.ts';
import type { ResourceDefinition, ServerOptions, Workspace } from '../options.ts';
import type { GrantRecord, RememberedConsent } from '../store/index.ts';
import { consentTermsOf } from './terms.ts';

export interface ExistingConsents {
  /** The workspaces that the person may choose from; none where there are none. */
  readonly workspaces: readonly Workspace[];
  /** Grants in workspaces that are still there, or outside of any where there are none. The last used comes first. */
  readonly grants: readonly GrantRecord[];
}

/** @throws OAuthError `temporarily_unavailable` when the store or the operator's workspaces cannot be asked */
export async function findExistingConsents(
  context: ServerContext,
  accountId: string,
  client: ResolvedClient,
  resource: string,
): Promise<ExistingConsents> {
  const {
    store,
    clock,
    options: { lifetimes },
  } = context;
  const now = clock();
  const [grants, workspaces] = await Promise.all([
    store.listGrants(accountId, now),
    findWorkspaces(context.options, accountId, resource),
  ]);
  return {
    workspaces,
    grants: grants.filter(
      (grant) =>
        grant.clientId === client.id &&
        grant.resources.includes(resource) &&
        isUsable(grant, client, lifetimes, now) &&
        isThere(grant, workspaces),
    ),
  };
}

/** Seconds: a token that is told again within the grace window is a use that nobody notes. */
const SLACK = 60;

/** A grant whose tokens have all expired gives access to nothing, though it stands. */
export function isUsable(
  { lastUsedAt }: Pick<GrantRecord, 'lastUsedAt'>,
  client: ResolvedClient | null,
  lifetimes: Lifetimes,
  now: number,
): boolean {
  const refreshes = client?.metadata.grant_types.includes('refresh_token') ?? true;
  return lastUsedAt + (refreshes ? lifetimes.refreshIdle : lifetimes.accessToken) + SLACK > now;
}

/** The scopes that a client holds in a workspace. */
export function grantedScopesIn(workspace: string | null, { grants }: ExistingConsents): Scopes {
  return grants
    .filter((grant) => grant.workspace === workspace)
    .reduce<Scopes>((held, { scopes }) => unionScopes(held, scopes), []);
}

/** A request that a person may have answered before. */
export interface RepeatedRequest {
  readonly accountId: string;
  readonly client: ResolvedClient;
  readonly target: RedirectTarget;
  readonly resource: ResourceDefinition;
  readonly scopes: Scopes;
}

/**
 * The consent by which a person has answered this very request before: nothing more is asked for, the client says the same of
 * itself, and the answer goes to the same place, which is its own. `null`: the person has to be asked. Who registered itself,
 * or is called back on this computer, could be anybody, and is never remembered.
 * @throws OAuthError `temporarily_unavailable` when the store or the operator's workspaces cannot be asked
 * @see OAuth 2.1 draft 13 §7.3.1
 */
export async function findMatchingConsent(
  context: ServerContext,
  { accountId, client, target, resource, scopes }: RepeatedRequest,
): Promise<RememberedConsent | null> {
  if (client.origin === 'registered' || target.kind !== 'https') return null;
  const {
    store,
    clock,
    options: { lifetimes },
  } = context;
  const now = clock();
  const terms = consentTermsOf(client, target);
  const [newest, workspaces] = await Promise.all([
    store.findNewestRememberedConsent(accountId, client.id, terms, now),
    findWorkspaces(context.options, accountId, resource.resource),
  ]);
  if (newest === null) return null;
  const answers = (consent: RememberedConsent) =>
    consent.resources.includes(resource.resource) &&
    isUsable(consent, client, lifetimes, now) &&
    isThere(consent, workspaces) &&
    missingScopes(scopes, consent.scopes, resource.hierarchy).length === 0;
  // Where there are workspaces, the one that was used last is meant: only all consents together tell that.
  if (workspaces.length === 0 && answers(newest)) return newest;
  return (await store.listRememberedConsents(accountId, client.id, terms, now)).find(answers) ?? null;
}

/** Whether what was allowed lies in a workspace that is still there, or outside of any where there are none. */
function isThere({ workspace }: Pick<GrantRecord, 'workspace'>, workspaces: readonly Workspace[]): boolean {
  return workspaces.length === 0 ? workspace === null : workspaces.some(({ id }) => id === workspace);
}

async function findWorkspaces(
  { workspaces }: ServerOptions,
  accountId: string,
  resource: string,
): Promise<readonly Workspace[]> {
  try {
    return await workspaces(accountId, resource);
  } catch (error) {
    throw temporarilyUnavailable(`the workspaces cannot be asked for: ${String(error)}`);
  }
}
