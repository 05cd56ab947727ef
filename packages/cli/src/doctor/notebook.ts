/** What is written down during an examination, and what it comes to: broken rules, stops, choices, and a sentence for each step. */
import type { ClientError } from '@portcullis/client';
import type { Breach } from './checks.ts';
import { type Claims, pinnedClaims, unknownClaims } from './claims.ts';
import { explainClaims } from './decisions.ts';
import { isFirst, judge, type StepBreach } from './judgement.ts';
import type { Decision, Finding, Report, Step, StepName } from './report.ts';
import { findingOf } from './stops.ts';

/** The examination has ended: there is no way on. */
export class Ended extends Error {}

export interface Notebook {
  /** The step that is looked at. */
  current(): StepName;
  begin(step: StepName): void;
  summarize(step: StepName, sentence: string): void;
  decide(...decisions: readonly Decision[]): void;
  note(step: StepName, broken: readonly Breach[]): void;
  /** Something that is in the way, and breaks no rule. */
  stop(finding: Finding): void;
  /** Ends the examination. What the client says counts where no rule has said it already. */
  end(step: StepName, failure: ClientError): never;
  isFaulty(step: StepName): boolean;
  /** What the server claims to be, as far as it shows by now; what the person said stays. */
  claim(claims: Claims): void;
  /** By which revision it was met; what was said first stays. */
  meet(revision: string): void;
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

/** @param pinned the revision that the person said, if any */
export function createNotebook(pinned: string | undefined, onBegin: (step: StepName) => void): Notebook {
  const breaches: StepBreach[] = [];
  const stops: Finding[] = [];
  const decisions: Decision[] = [];
  const summaries = new Map<StepName, string>();
  let current: StepName = 'request';
  let claims = pinned === undefined ? unknownClaims : pinnedClaims(pinned);
  let revision: string | null = pinned ?? null;

  const findings = () => [...judge(breaches, claims), ...stops].filter(isFirst);
  const isFaulty = (name: StepName) =>
    findings().some(({ step, gravity }) => step === name && gravity === 'fault');
  const isSaid = ({ requirement: said }: Finding, step: StepName) =>
    isFaulty(step) ||
    findings().some(
      ({ gravity, requirement }) => gravity === 'fault' && said !== null && requirement === said,
    );
  const stepOf = (name: StepName, isSignedIn: boolean): Step => {
    const summary = summaries.get(name);
    if (summary !== undefined) return { name, state: isFaulty(name) ? 'faulty' : 'well', summary };
    const user = !isSignedIn && (name === 'token' || name === 'call');
    return { name, state: 'skipped', summary: user ? 'a person is needed: --sign-in' : 'not reached' };
  };

  return {
    current: () => current,
    begin(step) {
      current = step;
      summaries.set(step, '');
      onBegin(step);
    },
    summarize: (step, sentence) => void summaries.set(step, sentence),
    decide: (...more) => void decisions.push(...more),
    note: (step, broken) => void breaches.push(...broken.map((one) => ({ step, ...one }))),
    stop: (finding) => void stops.push(finding),
    end(step, failure) {
      const finding = findingOf(step, failure);
      if (!isSaid(finding, step)) stops.push(finding);
      if (summaries.get(step) === '') summaries.set(step, 'the client stops here');
      for (const [name, said] of summaries) if (said === '') summaries.delete(name);
      throw new Ended();
    },
    isFaulty,
    claim(more) {
      if (pinned === undefined) claims = more;
    },
    meet(met) {
      if (pinned === undefined) revision = met;
    },
    report: (isSignedIn) => ({
      ...{ revision, claims, findings: findings() },
      steps: STEPS.map((name) => stepOf(name, isSignedIn)),
      decisions: [explainClaims(claims), ...decisions],
    }),
  };
}
