/** The judgement of an answer to a consent question: what it grants, as far as it was asked. */
import type { Scopes } from '@portcullis/protocol';
import type { Deliberation } from './deliberation.ts';
import type { Approval } from './flow.ts';
import { answer } from './question.ts';

/** What somebody chose. */
export interface Choice {
  readonly scopes: Scopes;
  /** Empty when none was named. */
  readonly workspace: string;
}

/** What a choice allows, as far as it was offered; or what is missing in it, or that it names something else. */
export function readApproval(
  { resource, question, workspace, choices }: Deliberation,
  chosen: Choice,
): Approval | 'foreign' | 'nothing' | 'no-workspace' {
  const read = answer(question, chosen.scopes, resource);
  if (typeof read === 'string') return read;
  const approval = { scopes: read.granted, by: 'answer' } as const;
  if (choices.length === 0)
    return chosen.workspace === '' ? { ...approval, workspace: workspace?.id ?? null } : 'foreign';
  if (chosen.workspace === '') return 'no-workspace';
  return choices.some(({ id }) => id === chosen.workspace)
    ? { ...approval, workspace: chosen.workspace }
    : 'foreign';
}
