/** From broken rules to findings: whom a rule binds depends on what the server claims to be. */
import type { Breach } from './checks.ts';
import { type Claims, letterOf } from './claims.ts';
import type { Finding, StepName } from './report.ts';
import { rules } from './rules.ts';

/** A rule that was broken on the way. */
export interface StepBreach extends Breach {
  readonly step: StepName;
}

/** What the broken rules come to; each is told once. */
export function judge(breaches: readonly StepBreach[], claims: Claims): readonly Finding[] {
  return breaches.flatMap((breach) => findingOf(breach, claims)).filter(isFirst);
}

/** Nothing, when no revision that the server may speak has the rule. */
function findingOf({ step, rule, what }: StepBreach, claims: Claims): readonly Finding[] {
  const { revisions: bound, owner, gravity, remedy } = rules[rule];
  const broken = claims.revisions.filter((revision) => bound.includes(letterOf(revision)));
  if (broken.length === 0) return [];
  const newest = claims.revisions.at(-1) ?? '';
  const binds = claims.by !== 'evidence' || broken.includes(newest);
  return [
    {
      ...{ step, requirement: rule, gravity: binds ? gravity : 'advice', owner, temporary: false },
      ...{ what, remedy, revisions: broken },
    },
  ];
}

export function isFirst(finding: Finding, index: number, all: readonly Finding[]): boolean {
  const same = (other: Finding) => other.requirement === finding.requirement && other.what === finding.what;
  return all.findIndex(same) === index;
}
