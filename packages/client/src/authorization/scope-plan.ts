/** Scope selection for a first request and for a step-up, with the reason for each choice. */
import { type Scopes, unionScopes } from '@portcullis/protocol';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';

/** Configured scopes. */
export interface ScopeSettings {
  /** Requested in addition to the scopes that the server names. */
  readonly add?: Scopes;
  /** Requested instead of the scopes that the server names. */
  readonly only?: Scopes;
}

/** The scopes to request, and where they come from. */
export interface ScopePlan {
  /** Empty: the parameter is omitted and the server decides. */
  readonly scopes: Scopes;
  /** Where the scopes come from, as text for users. */
  readonly reasons: readonly string[];
}

/**
 * Plans a first request: the scopes of the challenge, else all scopes of the resource metadata, else none, in the order
 * of the revision.
 * @see RFC 6750 §3, RFC 9728 §2, RFC 6749 §3.3
 */
export function planScopes(discovery: DiscoveryResult, settings: ScopeSettings): ScopePlan {
  if (settings.only !== undefined) return { scopes: settings.only, reasons: ['configured scopes only'] };
  const named = namedScopes(discovery);
  const reasons = [named.reason];
  let scopes = named.scopes;
  if (settings.add !== undefined && settings.add.length > 0) {
    scopes = unionScopes(scopes, settings.add);
    reasons.push('configured additions');
  }
  // Only together with other scopes: alone it would replace the server's defaults.
  if (scopes.length > 0 && offersOfflineAccess(discovery)) {
    scopes = unionScopes(scopes, ['offline_access']);
    reasons.push('offline_access, listed by the authorization server');
  }
  return { scopes, reasons };
}

function namedScopes({ profile, challenge, resourceMetadata }: DiscoveryResult): {
  scopes: Scopes;
  reason: string;
} {
  const sources = {
    challenge: { scopes: challenge.scopes, reason: 'named by the challenge' },
    'resource-metadata': {
      scopes: resourceMetadata?.scopes_supported ?? null,
      reason: 'listed by the resource metadata',
    },
  };
  for (const source of profile.scopeFrom) {
    const { scopes, reason } = sources[source];
    if (scopes !== null && scopes.length > 0) return { scopes, reason };
  }
  return { scopes: [], reason: 'none named by the server, so its default applies' };
}

/** The scope MUST NOT be requested where the authorization server does not list it. */
function offersOfflineAccess({ profile, metadata }: DiscoveryResult): boolean {
  return profile.scopeFrom.length > 0 && metadata.scopes_supported?.includes('offline_access') === true;
}

/**
 * Plans a step-up; `null` when it would gain nothing, or the revision has no step-up.
 * @param retry whether to request scopes again that were requested before and not granted
 * @see RFC 6750 §3.1, `insufficient_scope`
 */
export function planStepUp(
  discovery: Pick<DiscoveryResult, 'profile'>,
  needed: Scopes,
  before: { readonly requested: Scopes; readonly granted: Scopes },
  retry = false,
): ScopePlan | null {
  const had = unionScopes(before.requested, before.granted);
  // Requesting the same scopes again would have the same result.
  const futile = retry ? before.granted : had;
  if (needed.length === 0 || needed.every((scope) => futile.includes(scope))) return null;
  switch (discovery.profile.stepUp) {
    case 'none':
      return null;
    case 'challenge':
      return { scopes: needed, reasons: ['required by the operation'] };
    case 'union':
      return {
        scopes: unionScopes(had, needed),
        reasons: ['required by the operation, together with those requested before'],
      };
  }
}
