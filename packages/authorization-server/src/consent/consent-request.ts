/** The consent request: scopes, and the workspace that the grant is bound to; and what a choice among them grants. */
import {
  impliedScopes,
  intersectScopes,
  missingScopes,
  type Scopes,
  unionScopes,
} from '@portcullis/protocol';
import type { ConsentDecision } from '../authorization/next-step.ts';
import type { Workspace } from '../authorization/options.ts';
import {
  consentDigestOf,
  findExistingConsents,
  grantedScopesIn,
} from '../authorization/remembered-consent.ts';
import { withinMaximumScope } from '../authorization/resolve-scopes.ts';
import type { AuthorizationTransaction } from '../authorization/transactions.ts';
import type { ResourceDefinition } from '../resources/options.ts';
import { findScopeLimit, limitByClient, type ScopeLimit, type ScopeRefusal } from '../users/scope-limits.ts';
import type { ConsentContext } from './options.ts';
import { type DescribedAccess, describeAccess } from './scope-access.ts';

export interface ConsentRequest {
  /** As configured; without scopes when the resource has been removed from the configuration. */
  readonly resource: ResourceDefinition;
  readonly scopes: ConsentScopes;
  /** Scopes that the client requested and that may not be granted. */
  readonly withheld: readonly WithheldScope[];
  /** The one that the grant will be bound to; `null` where there are none, or until the user picks one. */
  readonly workspace: Workspace | null;
  /** The workspaces to pick from; empty when there is nothing to pick. */
  readonly choices: readonly Workspace[];
  /** Whether the user could switch to another workspace than the one that the client has access to. */
  readonly hasOthers: boolean;
  /** Whether the user has no connection of this client. */
  readonly isFirstUse: boolean;
}

/** A scope that may not be granted, and what refuses it. */
export interface WithheldScope extends Pick<ScopeRefusal, 'by'> {
  readonly scope: string;
}

/** The scopes of a consent request. */
interface ConsentScopes {
  readonly requested: readonly RequestedScope[];
  /** Scopes already granted to the client; they remain, whatever is chosen. */
  readonly alreadyGranted: Scopes;
  /** Whether the client already has all of them. */
  readonly isKnown: boolean;
}

export interface RequestedScope extends DescribedAccess {
  readonly scope: string;
  /** Whether it is added to scopes that the client already has. */
  readonly isNew: boolean;
  /** Whether the client did not request it, and may be unable to do so later. */
  readonly isExtra: boolean;
  /** Whether the user may switch it off. */
  readonly isOptional: boolean;
  /** Other requested scopes that it implies, chosen or not. */
  readonly includes: Scopes;
}

/** What the scope rules need to know of a resource. */
type ScopeRules = Pick<ResourceDefinition, 'scopes' | 'hierarchy' | 'requiredScopes' | 'access'>;

/** Whether none of the requested scopes can be granted to the user. */
export function isNothingGrantable(
  { record }: AuthorizationTransaction,
  { scopes: { requested } }: ConsentRequest,
): boolean {
  return record.scopes.length > 0 && requested.every(({ isExtra }) => isExtra);
}

/**
 * Requests only what can be granted to this client and user, as far as the user is known.
 * @param afresh whether the user wants another workspace than the one that the client has access to
 */
export async function createConsentRequest(
  context: ConsentContext,
  transaction: AuthorizationTransaction,
  accountId: string | null,
  afresh: boolean,
): Promise<ConsentRequest> {
  const { record, client } = transaction;
  const [uri = ''] = record.resources;
  const removed: ResourceDefinition = { resource: uri, name: new URL(uri).host, scopes: {} };
  const { options } = context;
  const resource = options.resources.get(uri) ?? removed;
  // A user whom the identity provider will identify later has no consents yet.
  const existing =
    accountId === null
      ? { workspaces: [], consents: [], isKnownClient: false }
      : await findExistingConsents(context, accountId, client, uri, record.scopes);
  const { workspaces, consents } = existing;
  const bound = afresh ? undefined : workspaces.find(({ id }) => id === consents[0]?.workspace);
  const workspace = bound ?? (workspaces.length === 1 ? (workspaces[0] ?? null) : null);
  const mustChoose = workspace === null && workspaces.length > 0;
  const possible = (scopes: Scopes) => withinMaximumScope(options, client, scopes, resource.hierarchy);
  const others = options.offerOtherScopes ? possible(Object.keys(resource.scopes)) : [];
  const granted = mustChoose ? [] : possible(grantedScopesIn(workspace?.id ?? null, existing));
  const known = unionScopes(others, granted);
  const { grantable, refusalOf } = await findLimit(context, transaction, resource, accountId, known);
  return {
    resource,
    scopes: resolveConsentScopes(grantable(record.scopes), grantable(granted), grantable(others), resource),
    withheld: record.scopes.flatMap((scope) => {
      const refusal = refusalOf(scope);
      return refusal === null ? [] : [{ scope, by: refusal.by }];
    }),
    workspace,
    choices: mustChoose ? workspaces : [],
    hasOthers: bound !== undefined && workspaces.length > 1,
    isFirstUse: !existing.isKnownClient,
  };
}

/**
 * What can be granted, as far as it is known before the decision.
 * @param others scopes besides the requested ones
 */
async function findLimit(
  context: ConsentContext,
  { record, client, identityProvider }: AuthorizationTransaction,
  resource: ResourceDefinition,
  accountId: string | null,
  others: Scopes,
): Promise<ScopeLimit> {
  const byClient = limitByClient(resource, client.id);
  if (accountId === null) return byClient;
  const recipient = { clientId: client.id, accountId };
  const limit = await findScopeLimit(context, resource, recipient, unionScopes(record.scopes, others));
  // The identity provider names the user's groups again after the consent.
  const mayChange = identityProvider !== null && limit.grantable(record.scopes).length === 0;
  return mayChange ? byClient : limit;
}

/**
 * A decision is valid only for the consent request that its page showed, and for the client and the resource as they were then: this text
 * is part of the CSRF token.
 */
export function serializeConsentRequest(
  { client, target }: Pick<AuthorizationTransaction, 'client' | 'target'>,
  { scopes, workspace, choices, resource }: ConsentRequest,
): string {
  return JSON.stringify([scopes, workspace, choices, consentDigestOf(client, target, resource)]);
}

/**
 * Step-up: when the client already has scopes, only new ones are offered, and the others stay. When nothing is new, the
 * client is granted what it requests and no more.
 * @param granted the scopes of its live grants
 * @param possible what it could request besides
 */
function resolveConsentScopes(
  requested: Scopes,
  granted: Scopes,
  possible: Scopes,
  rules: ScopeRules,
): ConsentScopes {
  const added = missingScopes(requested, granted, rules.hierarchy);
  const isStepUp = granted.length > 0 && added.length > 0;
  const wanted = isStepUp ? added : requested;
  // Scopes that have been removed from the configuration are dropped.
  const stillOffered = granted.filter((scope) => Object.hasOwn(rules.scopes, scope));
  const alreadyGranted = isStepUp ? unionScopes(stillOffered, missingScopes(requested, added)) : [];
  const extras = missingScopes(possible, unionScopes(wanted, alreadyGranted), rules.hierarchy);
  const offered = [...wanted, ...extras];
  return {
    requested: offered.map((scope) => {
      const isExtra = extras.includes(scope);
      const { access, isOffByDefault } = describeAccess(scope, rules);
      const implied = [...impliedScopes([scope], rules.hierarchy ?? {})].filter((one) => one !== scope);
      return {
        scope,
        isNew: isStepUp && !isExtra,
        isExtra,
        isOptional: isExtra || (wanted.length > 1 && rules.requiredScopes?.includes(scope) !== true),
        includes: intersectScopes(offered, implied),
        access,
        isOffByDefault: isExtra || isOffByDefault,
      };
    }),
    alreadyGranted,
    isKnown: granted.length > 0 && !isStepUp,
  };
}

/** What a user chose. */
interface ConsentChoice {
  readonly scopes: Scopes;
  /** Empty when none was named. */
  readonly workspace: string;
}

/** Why a choice is no decision: it names something that was not offered, no scope, or no workspace. */
type InvalidChoice = 'foreign' | 'nothing' | 'no-workspace';

/** The consent decision: what the user's choice grants, within the limits of the consent request. Pure. */
export function decideConsent(
  { resource, scopes: { requested, alreadyGranted }, workspace, choices }: ConsentRequest,
  chosen: ConsentChoice,
): ConsentDecision | InvalidChoice {
  const offered = requested.map(({ scope }) => scope);
  if (missingScopes(chosen.scopes, offered).length > 0) return 'foreign';
  if (chosen.scopes.length === 0 && requested.length > 0) return 'nothing';
  if (requested.some(({ scope, isOptional }) => !isOptional && !chosen.scopes.includes(scope)))
    return 'foreign';
  const granted = intersectScopes(offered, [...impliedScopes(chosen.scopes, resource.hierarchy ?? {})]);
  const decision = { scopes: unionScopes(alreadyGranted, granted), source: 'user' } as const;
  if (choices.length === 0)
    return chosen.workspace === '' ? { ...decision, workspace: workspace?.id ?? null } : 'foreign';
  if (chosen.workspace === '') return 'no-workspace';
  return choices.some(({ id }) => id === chosen.workspace)
    ? { ...decision, workspace: chosen.workspace }
    : 'foreign';
}
