/** The rule of the requirements gate: what the list promises against what the tests name. */
import type { Citation } from './citations.ts';

export interface Requirement {
  readonly id: string;
  readonly level: 'MUST' | 'MUST*' | 'SHOULD' | 'SHOULD*' | 'MAY' | 'MAY*' | 'INFO';
  readonly role: 'AS' | 'server' | 'client' | 'gateway' | 'all';
  readonly text: string;
  readonly source: string;
  readonly part: string;
  readonly status: 'covered' | 'deferred' | 'planned' | 'note';
  readonly reason?: string;
}

export interface Coverage {
  /** Promised as covered, named by no test. */
  readonly missing: readonly Requirement[];
  /** Named by a test, not on the list. */
  readonly unknown: readonly Citation[];
  /** Entries of the list that contradict themselves, one sentence each. */
  readonly issues: readonly string[];
}

export function compare(list: readonly Requirement[], citations: readonly Citation[]): Coverage {
  const named = new Set(citations.map(({ id }) => id));
  const known = new Set(list.map(({ id }) => id));
  return {
    missing: list.filter(({ id, status }) => status === 'covered' && !named.has(id)),
    unknown: citations.filter(({ id }) => !known.has(id)),
    issues: list.flatMap((requirement, index) => issuesOf(requirement, list.slice(0, index))),
  };
}

function issuesOf(requirement: Requirement, before: readonly Requirement[]): readonly string[] {
  const { id, level, status, reason = '' } = requirement;
  const issues: string[] = [];
  if (before.some((other) => other.id === id)) issues.push(`${id} stands twice in the list`);
  if (!['covered', 'deferred', 'planned', 'note'].includes(status))
    issues.push(`${id} has no such status: ${status}`);
  if (status === 'deferred' && reason.trim() === '') issues.push(`${id} is deferred without a reason`);
  if (status === 'note' && level !== 'INFO') issues.push(`${id} is ${level}: a note needs no test, it does`);
  return issues;
}

/** Rows for a reader: each part with what it promises, what tests name, and what is put off. */
export function summarize(
  list: readonly Requirement[],
  citations: readonly Citation[],
): Readonly<Record<string, Readonly<Record<string, number>>>> {
  const named = new Set(citations.map(({ id }) => id));
  const count = (part: string, matches: (requirement: Requirement) => boolean) =>
    list.filter((requirement) => requirement.part === part && matches(requirement)).length;
  return Object.fromEntries(
    [...new Set(list.map(({ part }) => part))].map((part) => [
      part,
      {
        promised: count(part, ({ status }) => status === 'covered'),
        tested: count(part, ({ id, status }) => status === 'covered' && named.has(id)),
        deferred: count(part, ({ status }) => status === 'deferred'),
        planned: count(part, ({ status }) => status === 'planned'),
        'planned, tested already': count(part, ({ id, status }) => status === 'planned' && named.has(id)),
      },
    ]),
  );
}
