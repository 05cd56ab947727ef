/** Which scopes are asked for, and why: a law that can explain itself. */
import { type Scopes, unionScopes } from '@portcullis/protocol';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';

/** The person's or program's own wishes. */
export interface ScopeSettings {
  /** Asked for besides what the server names. */
  readonly add?: Scopes;
  /** Asked for instead of what the server names. */
  readonly only?: Scopes;
}

/** Scopes, and in one sentence each where they come from. */
export interface ScopePlan {
  /** Empty: the parameter is left out, and the server decides. */
  readonly scopes: Scopes;
  readonly reasons: readonly string[];
}

/**
 * Plans a first request: the challenge's scopes, else all that the resource's metadata lists, else none; in the order
 * that the profile knows.
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
  // Only where other scopes are named too: alone it would displace the server's defaults.
  if (scopes.length > 0 && offersOfflineAccess(discovery)) {
    scopes = unionScopes(scopes, ['offline_access']);
    reasons.push('offline_access, because the authorization server lists it');
  }
  return { scopes, reasons };
}

function namedScopes({ profile, challenge, resourceMetadata }: DiscoveryResult): {
  scopes: Scopes;
  reason: string;
} {
  const sources = {
    challenge: { scopes: challenge.scopes, reason: 'the challenge names them' },
    'resource-metadata': {
      scopes: resourceMetadata?.scopes_supported ?? null,
      reason: "the resource's metadata lists them",
    },
  };
  for (const place of profile.scopeFrom) {
    const { scopes, reason } = sources[place];
    if (scopes !== null && scopes.length > 0) return { scopes, reason };
  }
  return { scopes: [], reason: 'the server names none, so its default applies' };
}

/** The scope MUST NOT be asked for where the authorization server does not list it. */
function offersOfflineAccess({ profile, metadata }: DiscoveryResult): boolean {
  return profile.scopeFrom.length > 0 && metadata.scopes_supported?.includes('offline_access') === true;
}

/**
 * Plans a step-up; `null` when it would bring nothing new, or the profile has none.
 * @param again whether to ask for what was asked for before and not granted: somebody wants it asked once more
 */
export function planStepUp(
  discovery: Pick<DiscoveryResult, 'profile'>,
  needed: Scopes,
  before: { readonly requested: Scopes; readonly granted: Scopes },
  again = false,
): ScopePlan | null {
  const had = unionScopes(before.requested, before.granted);
  // Asking again for what was asked for already would end like the last time.
  const vain = again ? before.granted : had;
  if (needed.length === 0 || needed.every((scope) => vain.includes(scope))) return null;
  switch (discovery.profile.stepUp) {
    case 'none':
      return null;
    case 'challenge':
      return { scopes: needed, reasons: ['the operation needs them'] };
    case 'union':
      return {
        scopes: unionScopes(had, needed),
        reasons: ['the operation needs more than was asked for before'],
      };
  }
}
