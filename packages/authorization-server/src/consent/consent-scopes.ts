/** The law of what a consent page asks, and of what an answer to it grants. */
import {
  impliedScopes,
  intersectScopes,
  missingScopes,
  type Scopes,
  unionScopes,
} from '@portcullis/protocol';
import type { ResourceDefinition } from '../options.ts';

/** What the law needs to know of a resource. */
type Rules = Pick<ResourceDefinition, 'scopes' | 'hierarchy' | 'requiredScopes'>;

/** A scope that is asked for. */
interface AskedScope {
  readonly scope: string;
  /** Whether it comes to others that the client holds already. */
  readonly isNew: boolean;
  /** Whether a person may leave it out. */
  readonly isOptional: boolean;
  /** What else is asked for and comes with it, whether or not it is chosen by itself. */
  readonly includes: Scopes;
}

export interface ConsentScopes {
  readonly asked: readonly AskedScope[];
  /** What the client holds already and keeps, whatever is chosen. */
  readonly kept: Scopes;
  /** Whether all of it was allowed before. */
  readonly isKnown: boolean;
}

/**
 * Asks for what was requested. When the client holds something already, only what is new is asked for, and the rest stays;
 * when nothing is new, it gets what it requests and no more.
 * @param held the scopes of its grants that stand
 */
export function resolveConsentScopes(requested: Scopes, held: Scopes, rules: Rules): ConsentScopes {
  const fresh = missingScopes(requested, held, rules.hierarchy);
  const isStepUp = held.length > 0 && fresh.length > 0;
  const asked = isStepUp ? fresh : requested;
  return {
    asked: asked.map((scope) => ({
      scope,
      isNew: isStepUp,
      isOptional: asked.length > 1 && rules.requiredScopes?.includes(scope) !== true,
      includes: intersectScopes(asked, impliedBy(scope, rules)),
    })),
    kept: isStepUp ? unionScopes(stillOffered(held, rules), missingScopes(requested, fresh)) : [],
    isKnown: held.length > 0 && !isStepUp,
  };
}

/** What an answer grants; or that it chose nothing, or what was not to be chosen. */
export type ScopeDecision = { readonly granted: Scopes } | 'nothing' | 'foreign';

/** @param chosen the scopes that the form names */
export function decideConsentScopes(
  { asked, kept }: ConsentScopes,
  chosen: Scopes,
  { hierarchy = {} }: Rules,
): ScopeDecision {
  const scopes = asked.map(({ scope }) => scope);
  if (missingScopes(chosen, scopes).length > 0) return 'foreign';
  if (chosen.length === 0 && asked.length > 0) return 'nothing';
  if (asked.some(({ scope, isOptional }) => !isOptional && !chosen.includes(scope))) return 'foreign';
  const granted = intersectScopes(scopes, [...impliedScopes(chosen, hierarchy)]);
  return { granted: unionScopes(kept, granted) };
}

function impliedBy(scope: string, { hierarchy = {} }: Rules): Scopes {
  return [...impliedScopes([scope], hierarchy)].filter((implied) => implied !== scope);
}

/** What left the configuration since means nothing any more. */
function stillOffered(held: Scopes, { scopes }: Rules): Scopes {
  return held.filter((scope) => Object.hasOwn(scopes, scope));
}
