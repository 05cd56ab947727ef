/** Remembered consent: what a user already allowed a client, read from live grants, so that it ends with them. */
import type { HttpRequest } from '@portcullis/http';
import {
  missingScopes,
  type Prompt,
  type RedirectTarget,
  type Scopes,
  temporarilyUnavailable,
  unionScopes,
} from '@portcullis/protocol';
import type { ResolvedClient } from '../clients/client.ts';
import type { Lifetimes } from '../core-options.ts';
import type { ResourceDefinition } from '../resources/options.ts';
import { hashSecret } from '../secrets.ts';
import type { GrantRecord, RememberedConsent } from '../store/index.ts';
import { findScopeLimit, serializeScopeLimits } from '../users/scope-limits.ts';
import { serializeClaimRules } from '../users/user-claims.ts';
import type { ConsentDecision } from './next-step.ts';
import type { AuthorizationOptions, Workspace } from './options.ts';
import type { AuthorizationContext } from './page-context.ts';

/** A checked request of a signed-in user. */
interface ConsentQuery {
  readonly accountId: string;
  readonly client: ResolvedClient;
  readonly target: RedirectTarget;
  readonly resource: ResourceDefinition;
  readonly scopes: Scopes;
}

/**
 * Finds the consent that covers a request, so that no page is needed. `null`: show the consent page, as after any failure.
 * @throws OAuthError `temporarily_unavailable`, with `prompt=none` only
 */
export async function findRememberedConsent(
  context: AuthorizationContext,
  request: HttpRequest,
  prompt: ReadonlySet<Prompt>,
  query: ConsentQuery,
): Promise<ConsentDecision | null> {
  const asksForPage = prompt.has('login') || prompt.has('select_account') || prompt.has('consent');
  if (asksForPage || !isUserNavigation(request)) return null;
  const { accountId, client, resource } = query;
  const limit = await findScopeLimit(context, resource, { clientId: client.id, accountId }, query.scopes);
  const scopes = limit.grantable(query.scopes);
  // The consent page refuses what cannot be granted.
  if (scopes.length === 0 && query.scopes.length > 0) return null;
  const consent = await findMatchingConsent(context, { ...query, scopes }).catch((error: unknown) => {
    if (prompt.has('none')) throw error;
    return null;
  });
  if (consent === null) return null;
  return { scopes, workspace: consent.workspace, source: 'remembered' };
}

/**
 * Whether the browser reports that the user navigated here from our own origin or from none, in a top-level page. After a link from
 * another origin, in a frame, for a prefetch, or without these headers, the page is shown. `same-site` is another host of the
 * same registrable domain, or another port: neither speaks for this server.
 * @see Fetch Metadata Request Headers §2
 */
function isUserNavigation({ method, headers }: HttpRequest): boolean {
  return (
    method === 'GET' &&
    !headers.has('sec-purpose') &&
    !headers.has('purpose') &&
    ['same-origin', 'none'].includes(headers.get('sec-fetch-site') ?? '') &&
    headers.get('sec-fetch-mode') === 'navigate' &&
    headers.get('sec-fetch-dest') === 'document'
  );
}

/**
 * A consent of the same user for the same client, redirect URI, client metadata and resource, with at least these scopes. Clients
 * that registered themselves or that listen on loopback can be impersonated, so consent for them is never remembered.
 * @throws OAuthError `temporarily_unavailable` when the store or the operator's workspaces are unavailable
 * @see OAuth 2.1 draft 13 §7.3.1, RFC 8252 §8.6
 */
async function findMatchingConsent(
  context: AuthorizationContext,
  { accountId, client, target, resource, scopes }: ConsentQuery,
): Promise<RememberedConsent | null> {
  if (client.origin === 'registered' || target.kind !== 'https') return null;
  const { store, clock } = context;
  const { lifetimes } = context.options;
  const now = clock();
  const digest = consentDigestOf(client, target, resource);
  const newest = await store.findNewestConsent(accountId, client.id, digest, now);
  if (newest === null) return null;
  const workspaces = await findWorkspaces(context.options, accountId, resource.resource);
  const covers = (consent: RememberedConsent) =>
    consent.resources.includes(resource.resource) &&
    isUsable(consent, client, lifetimes, now) &&
    isInWorkspaces(consent, workspaces) &&
    missingScopes(scopes, consent.scopes, resource.hierarchy).length === 0;
  // With workspaces, the most recently used one counts, which only the list of all consents shows.
  if (workspaces.length === 0 && covers(newest)) return newest;
  return (await store.listConsents(accountId, client.id, digest, now)).find(covers) ?? null;
}

export interface ExistingConsents {
  /** The workspaces that the user can pick; empty where there are none. */
  readonly workspaces: readonly Workspace[];
  /**
   * In workspaces that still exist, or without a workspace where there are none. Most recently used first. Only the newest one if it
   * has all requested scopes: then nothing is added to what the others allow.
   */
  readonly consents: readonly RememberedConsent[];
  /** Whether the user has any connection of the client, also to another resource. */
  readonly isKnownClient: boolean;
}

/**
 * @param requested scopes
 * @throws OAuthError `temporarily_unavailable` when the store or the operator's workspaces are unavailable
 */
export async function findExistingConsents(
  context: AuthorizationContext,
  accountId: string,
  client: ResolvedClient,
  resource: string,
  requested: Scopes,
): Promise<ExistingConsents> {
  const { store, clock } = context;
  const { lifetimes } = context.options;
  const now = clock();
  const [newest, workspaces] = await Promise.all([
    store.findNewestConsent(accountId, client.id, null, now),
    findWorkspaces(context.options, accountId, resource),
  ]);
  if (newest === null) return { workspaces, isKnownClient: false, consents: [] };
  const applies = (consent: RememberedConsent) =>
    // What an organization allowed, the user has not.
    (consent.managedBy ?? null) === null &&
    consent.resources.includes(resource) &&
    isUsable(consent, client, lifetimes, now) &&
    isInWorkspaces(consent, workspaces);
  const isEnough =
    // With workspaces, the most recently used one counts.
    workspaces.length === 0 &&
    requested.length > 0 &&
    requested.every((scope) => newest.scopes.includes(scope)) &&
    applies(newest);
  const consents = isEnough ? [newest] : await store.listConsents(accountId, client.id, null, now);
  return { workspaces, isKnownClient: true, consents: consents.filter(applies) };
}

/** Seconds: a retry within the grace period of a refresh token is not recorded as a use. */
const UNRECORDED_USE = 60;

/** Whether a grant may still have a token that has not expired. */
export function isUsable(
  { lastUsedAt }: Pick<GrantRecord, 'lastUsedAt'>,
  client: ResolvedClient | null,
  lifetimes: Lifetimes,
  now: number,
): boolean {
  const refreshes = client?.metadata.grant_types.includes('refresh_token') ?? true;
  return lastUsedAt + (refreshes ? lifetimes.refreshIdle : lifetimes.accessToken) + UNRECORDED_USE > now;
}

/** The scopes that a client has in a workspace. */
export function grantedScopesIn(
  workspace: string | null,
  { consents }: Pick<ExistingConsents, 'consents'>,
): Scopes {
  return consents
    .filter((consent) => consent.workspace === workspace)
    .reduce<Scopes>((all, { scopes }) => unionScopes(all, scopes), []);
}

/** Whether a grant is bound to a workspace that still exists, or to none where there are none. */
function isInWorkspaces(
  { workspace }: Pick<GrantRecord, 'workspace'>,
  workspaces: readonly Workspace[],
): boolean {
  return workspaces.length === 0 ? workspace === null : workspaces.some(({ id }) => id === workspace);
}

async function findWorkspaces(
  { workspaces }: AuthorizationOptions,
  accountId: string,
  resource: string,
): Promise<readonly Workspace[]> {
  try {
    return await workspaces(accountId, resource);
  } catch (error) {
    throw temporarilyUnavailable(`the workspaces are unavailable: ${String(error)}`);
  }
}

/**
 * A digest of the redirect URI, the client's metadata, the claims about the user that the resource requests, its limits of scopes,
 * and what its scopes include: when any of them changes, the consent no longer applies.
 */
export function consentDigestOf(
  { digest, metadata }: ResolvedClient,
  { uri }: RedirectTarget,
  resource: ResourceDefinition | undefined,
): string {
  const known = digests.get(metadata);
  if (known !== undefined && known.uri === uri && known.resource === resource && known.digest === digest)
    return known.consentDigest;
  const rules =
    resource === undefined
      ? []
      : [serializeClaimRules(resource), serializeScopeLimits(resource), serializeHierarchy(resource)];
  const parts = [uri, digest ?? metadata, ...rules.filter((rule) => rule !== null)];
  const consentDigest = hashSecret(JSON.stringify(parts));
  digests.set(metadata, { uri, resource, digest, consentDigest });
  return consentDigest;
}

/** What scopes include, as text; `null`: none includes another. */
function serializeHierarchy({ hierarchy = {} }: Pick<ResourceDefinition, 'hierarchy'>): string | null {
  const included = Object.entries(hierarchy);
  return included.length === 0 ? null : JSON.stringify(['hierarchy', included.toSorted()]);
}

/** The last digest of each client: a request needs it twice, and the next one is mostly of the same kind. */
const digests = new WeakMap<
  ResolvedClient['metadata'],
  {
    readonly uri: string;
    readonly resource: ResourceDefinition | undefined;
    readonly digest: string | null;
    readonly consentDigest: string;
  }
>();
