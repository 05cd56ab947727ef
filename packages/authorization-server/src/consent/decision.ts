/** The judgement of an answer to a consent question: what it grants, as far as it was asked. */
import type { Scopes } from '@portcullis/protocol';
import type { ConsentDecision } from '../authorization/transaction.ts';
import type { ConsentRequest } from './consent-request.ts';
import { decideConsentScopes } from './consent-scopes.ts';

/** What somebody chose. */
export interface ConsentChoice {
  readonly scopes: Scopes;
  /** Empty when none was named. */
  readonly workspace: string;
}

/** What a choice allows, as far as it was offered; or what is missing in it, or that it names something else. */
export function decideConsent(
  { resource, question, workspace, choices }: ConsentRequest,
  chosen: ConsentChoice,
): ConsentDecision | 'foreign' | 'nothing' | 'no-workspace' {
  const read = decideConsentScopes(question, chosen.scopes, resource);
  if (typeof read === 'string') return read;
  const decision = { scopes: read.granted, by: 'answer' } as const;
  if (choices.length === 0)
    return chosen.workspace === '' ? { ...decision, workspace: workspace?.id ?? null } : 'foreign';
  if (chosen.workspace === '') return 'no-workspace';
  return choices.some(({ id }) => id === chosen.workspace)
    ? { ...decision, workspace: chosen.workspace }
    : 'foreign';
}
