/** The consent decision: what the user's choice grants, within the limits of the consent request. Pure. */
import {
  impliedScopes,
  intersectScopes,
  missingScopes,
  type Scopes,
  unionScopes,
} from '@portcullis/protocol';
import type { ConsentDecision } from '../authorization/next-step.ts';
import type { ConsentRequest } from './consent-request.ts';

/** What a user chose. */
export interface ConsentChoice {
  readonly scopes: Scopes;
  /** Empty when none was named. */
  readonly workspace: string;
}

/** Why a choice is no decision: it names something that was not offered, no scope, or no workspace. */
export type InvalidChoice = 'foreign' | 'nothing' | 'no-workspace';

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
