/** Turns violations into findings: which rules apply depends on the revisions the server supports. */
import type { Violation } from './checks.ts';
import { type Claims, letterOf } from './claims.ts';
import type { Finding, StepName } from './report.ts';
import { rules } from './rules.ts';

/** A violation with the step at which it was found. */
export interface StepViolation extends Violation {
  readonly step: StepName;
}

/** Creates the findings, without duplicates. */
export function createFindings(violations: readonly StepViolation[], claims: Claims): readonly Finding[] {
  return violations.flatMap((violation) => findingsOf(violation, claims)).filter(isFirst);
}

/** Empty if the rule is in none of the revisions the server may support. */
function findingsOf({ step, rule, message }: StepViolation, claims: Claims): readonly Finding[] {
  const { revisions: letters, owner, severity, remedy } = rules[rule];
  const violated = claims.revisions.filter((revision) => letters.includes(letterOf(revision)));
  if (violated.length === 0) return [];
  const newest = claims.revisions.at(-1) ?? '';
  const binds = claims.by !== 'evidence' || violated.includes(newest);
  return [
    {
      ...{ step, requirement: rule, severity: binds ? severity : 'warning', owner, temporary: false },
      ...{ message, remedy, revisions: violated },
    },
  ];
}

export function isFirst(finding: Finding, index: number, all: readonly Finding[]): boolean {
  const same = (other: Finding) =>
    other.requirement === finding.requirement && other.message === finding.message;
  return all.findIndex(same) === index;
}
