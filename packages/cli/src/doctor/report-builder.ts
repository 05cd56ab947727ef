/** Builds the report during an examination: findings, decisions and a summary for each step. */
import type { ClientError } from '@portcullis/client';
import { checks, type Violations } from './checks.ts';
import { type Claims, letterOf, pinnedClaims, unknownClaims } from './claims.ts';
import { describeClientError } from './client-errors.ts';
import type { Exchange } from './recorder.ts';
import { type Decision, errorsIn, type Finding, STEPS, type Step, type StepName } from './report.ts';
import { type RuleName, ruleOf } from './rules.ts';

/** Thrown when the examination cannot continue. */
export class ExaminationStopped extends Error {}

/** A finding that violates no rule. */
export type Problem = Pick<Finding, 'owner' | 'message' | 'remedy'> &
  Partial<Pick<Finding, 'severity' | 'temporary'>>;

/** @param pinned the revision set by `--revision`, if any */
export function createReportBuilder(pinned: string | undefined, isSignedIn: boolean) {
  const found: Finding[] = [];
  const decisions: Decision[] = [];
  const steps = new Map<StepName, Omit<Step, 'name'>>();
  /** The error that stopped the client, whichever revision it violates. */
  let stopped: Finding | null = null;
  let current: StepName = 'request';
  let claims = pinned === undefined ? unknownClaims : pinnedClaims(pinned);

  const findings = () =>
    found.flatMap((finding) => applyRevisions(finding, claims, finding === stopped)).filter(isFirst);
  const hasError = (isMeant: (error: Finding) => boolean) => errorsIn({ findings: findings() }).some(isMeant);

  function stepOf(name: StepName): Step {
    const needsUser = !isSignedIn && (name === 'token' || name === 'call');
    const summary = needsUser ? 'requires a user: --sign-in' : 'not reached';
    const step = steps.get(name) ?? { state: 'skipped', summary };
    return { name, ...step, ...(hasError((error) => error.step === name) && { state: 'failed' }) };
  }

  function addViolations(violations: Violations): void {
    for (const [requirement, message] of Object.entries(violations) as [RuleName, string | false][]) {
      const { severity, owner, remedy } = ruleOf(requirement);
      const finding = { ...DEFAULTS, step: current, requirement, severity, owner, remedy };
      if (message !== false) found.push({ ...finding, message });
    }
  }

  return {
    current: () => current,
    startStep(step: StepName): void {
      current = step;
      steps.set(step, { state: 'ok', summary: 'the client stops here' });
    },
    summarize(step: StepName, summary: string, state: Step['state'] = 'ok'): void {
      steps.set(step, { state, summary });
    },
    addDecisions: (...more: readonly Decision[]) => void decisions.push(...more),
    /** Adds violations of the current step. */
    addViolations,
    /** Checks an exchange, if there was one. */
    check(kind: keyof typeof checks, exchange: Exchange | undefined): void {
      if (exchange !== undefined) addViolations(checks[kind](exchange));
    },
    /** Adds a problem of the current step that violates no rule; an error by default. */
    addProblem: (problem: Problem) => void found.push({ ...DEFAULTS, step: current, ...problem }),
    /** Stops the examination. Adds the client's error unless a violated rule explains it. */
    fail(failure: ClientError, step: StepName = current): never {
      if (step !== current) steps.delete(current);
      const error = describeClientError(step, failure);
      const isMissing = failure.code === 'metadata_missing' || failure.code === 'redirected';
      const isExplained = hasError((other) =>
        isMissing ? other.step === step : (other.requirement ?? '') === error.requirement,
      );
      if (!isExplained) {
        stopped = error;
        found.push(error);
      }
      steps.set(step, { summary: '', ...steps.get(step), state: 'failed' });
      throw new ExaminationStopped();
    },
    /** Sets the supported revisions as known so far, unless a revision is pinned. */
    setClaims(more: Claims): void {
      if (pinned === undefined) claims = more;
    },
    report() {
      const choice = claims.revisions.join(', ');
      const all = [{ about: 'revisions', choice, reason: claims.reason }, ...decisions];
      return { claims, findings: findings(), steps: STEPS.map(stepOf), decisions: all };
    },
  };
}

const DEFAULTS = { requirement: null, severity: 'error', temporary: false, revisions: [] } as const;

/**
 * The finding at the revisions that the server may support: empty if none of them contains the rule, a warning if only older
 * ones do.
 */
function applyRevisions(finding: Finding, claims: Claims, stopsClient: boolean): readonly Finding[] {
  const { requirement, severity } = finding;
  if (requirement === null) return [finding];
  const letters = ruleOf(requirement).revisions;
  const revisions = claims.revisions.filter((revision) => letters.includes(letterOf(revision)));
  if (revisions.length === 0) return stopsClient ? [{ ...finding, requirement: null }] : [];
  const binds = stopsClient || claims.by !== 'evidence' || revisions.includes(claims.revisions.at(-1) ?? '');
  return [{ ...finding, revisions, severity: binds ? severity : 'warning' }];
}

function isFirst({ requirement, message }: Finding, index: number, all: readonly Finding[]): boolean {
  return all.findIndex((one) => one.requirement === requirement && one.message === message) === index;
}
