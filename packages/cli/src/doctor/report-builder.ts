/** Builds the report during an examination: violations, findings, decisions and a summary for each step. */
import type { ClientError } from '@portcullis/client';
import type { Violation } from './checks.ts';
import { type Claims, letterOf, pinnedClaims, unknownClaims } from './claims.ts';
import { describeClientError } from './client-errors.ts';
import { type Decision, type Finding, STEPS, type Step, type StepName } from './report.ts';
import { ruleOf } from './rules.ts';

/** Thrown when the examination cannot continue. */
export class ExaminationStopped extends Error {}

/** A finding that violates no rule. */
export type Problem = Pick<Finding, 'owner' | 'message' | 'remedy'> &
  Partial<Pick<Finding, 'step' | 'severity' | 'temporary'>>;

/** @param pinned the revision set by `--revision`, if any */
export function createReportBuilder(pinned: string | undefined, onBegin: (step: StepName) => void) {
  const violations: (Violation & { readonly step: StepName })[] = [];
  const problems: Finding[] = [];
  const decisions: Decision[] = [];
  const summaries = new Map<StepName, string>();
  const skipped = new Map<StepName, string>();
  let current: StepName = 'request';
  let claims = pinned === undefined ? unknownClaims : pinnedClaims(pinned);
  let revision: string | null = pinned ?? null;

  const findings = (): readonly Finding[] =>
    [
      ...violations.flatMap(({ step, ...violation }) => createFindings(step, violation, claims)),
      ...problems,
    ].filter(isFirst);
  const errors = () => findings().filter(({ severity }) => severity === 'error');
  const hasError = (name: StepName) => errors().some(({ step }) => step === name);
  const isExplained = ({ requirement: cited }: Finding, step: StepName) =>
    hasError(step) || (cited !== null && errors().some(({ requirement }) => requirement === cited));

  function stepOf(name: StepName, isSignedIn: boolean): Step {
    const summary = summaries.get(name);
    if (summary !== undefined) return { name, state: hasError(name) ? 'failed' : 'ok', summary };
    const needsUser = !isSignedIn && (name === 'token' || name === 'call');
    const reason = needsUser ? 'requires a user: --sign-in' : 'not reached';
    return { name, state: 'skipped', summary: skipped.get(name) ?? reason };
  }

  return {
    /** The current step. */
    current: () => current,
    startStep(step: StepName): void {
      current = step;
      summaries.set(step, '');
      onBegin(step);
    },
    summarize: (step: StepName, sentence: string) => void summaries.set(step, sentence),
    /** Explains why a step that requires a user was skipped. */
    describeSkipped: (step: StepName, sentence: string) => void skipped.set(step, sentence),
    addDecisions: (...more: readonly Decision[]) => void decisions.push(...more),
    addViolations: (step: StepName, more: readonly Violation[]) =>
      void violations.push(...more.map((one) => ({ step, ...one }))),
    /** Adds a problem of the current step that violates no rule; an error by default. */
    addFinding: (problem: Problem) => void problems.push({ ...DEFAULTS, step: current, ...problem }),
    /** Stops the examination. Adds the client's error unless a violated rule already explains it. */
    fail(step: StepName, failure: ClientError): never {
      const finding = describeClientError(step, failure);
      if (!isExplained(finding, step)) problems.push(finding);
      if (summaries.get(step) === '') summaries.set(step, 'the client stops here');
      for (const [name, summary] of summaries) if (summary === '') summaries.delete(name);
      throw new ExaminationStopped();
    },
    hasError,
    /** Sets the supported revisions as known so far, unless a revision is pinned. */
    setClaims(more: Claims): void {
      if (pinned === undefined) claims = more;
    },
    /** Sets the revision used, unless one is pinned. */
    setRevision(used: string): void {
      if (pinned === undefined) revision = used;
    },
    report: (isSignedIn: boolean) => ({
      revision,
      claims,
      findings: findings(),
      steps: STEPS.map((name) => stepOf(name, isSignedIn)),
      decisions: [
        { about: 'revisions' as const, choice: claims.revisions.join(', '), reason: claims.reason },
        ...decisions,
      ],
    }),
  };
}

const DEFAULTS = { requirement: null, severity: 'error', temporary: false, revisions: [] } as const;

/** Empty if no revision that the server may support contains the rule. */
function createFindings(step: StepName, { rule, message }: Violation, claims: Claims): readonly Finding[] {
  const { revisions: letters, owner, severity, remedy } = ruleOf(rule);
  const violated = claims.revisions.filter((revision) => letters.includes(letterOf(revision)));
  if (violated.length === 0) return [];
  const binds = claims.by !== 'evidence' || violated.includes(claims.revisions.at(-1) ?? '');
  return [
    {
      step,
      requirement: rule,
      severity: binds ? severity : 'warning',
      owner,
      temporary: false,
      message,
      remedy,
      revisions: violated,
    },
  ];
}

function isFirst(finding: Finding, index: number, all: readonly Finding[]): boolean {
  const { requirement, message } = finding;
  return all.findIndex((other) => other.requirement === requirement && other.message === message) === index;
}
