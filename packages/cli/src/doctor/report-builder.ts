/** Builds the report during an examination: violations, findings, decisions and a summary for each step. */
import type { ClientError } from '@portcullis/client';
import type { Violation } from './checks.ts';
import { type Claims, pinnedClaims, unknownClaims } from './claims.ts';
import { describeClientError } from './client-errors.ts';
import { explainClaims } from './decisions.ts';
import { createFindings, isFirst, type StepViolation } from './findings.ts';
import type { Decision, Finding, Report, Step, StepName } from './report.ts';

/** Thrown when the examination cannot continue. */
export class ExaminationStopped extends Error {}

export interface ReportBuilder {
  /** The current step. */
  current(): StepName;
  startStep(step: StepName): void;
  summarize(step: StepName, sentence: string): void;
  /** Says why a step that needs a user was not taken. */
  describeSkipped(step: StepName, sentence: string): void;
  addDecisions(...decisions: readonly Decision[]): void;
  addViolations(step: StepName, more: readonly Violation[]): void;
  /** Adds a problem that violates no rule. */
  addFinding(finding: Finding): void;
  /** Stops the examination. Adds the client's error unless a violated rule already explains it. */
  fail(step: StepName, failure: ClientError): never;
  hasError(step: StepName): boolean;
  /** Sets the supported revisions as known so far, unless a revision is pinned. */
  setClaims(claims: Claims): void;
  /** Sets the revision used, unless one is pinned. */
  setRevision(revision: string): void;
  report(isSignedIn: boolean): Pick<Report, 'revision' | 'claims' | 'steps' | 'decisions' | 'findings'>;
}

const STEPS: readonly StepName[] = [
  'request',
  'resource metadata',
  'authorization server',
  'registration',
  'authorization',
  'token',
  'call',
];

/** @param pinned the revision set by `--revision`, if any */
export function createReportBuilder(
  pinned: string | undefined,
  onBegin: (step: StepName) => void,
): ReportBuilder {
  const violations: StepViolation[] = [];
  const otherFindings: Finding[] = [];
  const decisions: Decision[] = [];
  const summaries = new Map<StepName, string>();
  const skipped = new Map<StepName, string>();
  let current: StepName = 'request';
  let claims = pinned === undefined ? unknownClaims : pinnedClaims(pinned);
  let revision: string | null = pinned ?? null;

  const findings = () => [...createFindings(violations, claims), ...otherFindings].filter(isFirst);
  const hasError = (name: StepName) =>
    findings().some(({ step, severity }) => step === name && severity === 'error');
  const isExplained = ({ requirement: cited }: Finding, step: StepName) =>
    hasError(step) ||
    findings().some(
      ({ severity, requirement }) => severity === 'error' && cited !== null && requirement === cited,
    );
  const stepOf = (name: StepName, isSignedIn: boolean): Step => {
    const summary = summaries.get(name);
    if (summary !== undefined) return { name, state: hasError(name) ? 'failed' : 'ok', summary };
    const user = !isSignedIn && (name === 'token' || name === 'call');
    const reason = user ? 'requires a user: --sign-in' : 'not reached';
    return { name, state: 'skipped', summary: skipped.get(name) ?? reason };
  };

  return {
    current: () => current,
    startStep(step) {
      current = step;
      summaries.set(step, '');
      onBegin(step);
    },
    summarize: (step, sentence) => void summaries.set(step, sentence),
    describeSkipped: (step, sentence) => void skipped.set(step, sentence),
    addDecisions: (...more) => void decisions.push(...more),
    addViolations: (step, more) => void violations.push(...more.map((one) => ({ step, ...one }))),
    addFinding: (finding) => void otherFindings.push(finding),
    fail(step, failure) {
      const finding = describeClientError(step, failure);
      if (!isExplained(finding, step)) otherFindings.push(finding);
      if (summaries.get(step) === '') summaries.set(step, 'the client stops here');
      for (const [name, summary] of summaries) if (summary === '') summaries.delete(name);
      throw new ExaminationStopped();
    },
    hasError,
    setClaims(more) {
      if (pinned === undefined) claims = more;
    },
    setRevision(used) {
      if (pinned === undefined) revision = used;
    },
    report: (isSignedIn) => ({
      ...{ revision, claims, findings: findings() },
      steps: STEPS.map((name) => stepOf(name, isSignedIn)),
      decisions: [explainClaims(claims), ...decisions],
    }),
  };
}
