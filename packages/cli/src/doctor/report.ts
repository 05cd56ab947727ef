/** The report on a server, without secrets. */
import type { Claims } from './claims.ts';
import type { RuleName } from './rules.ts';

/** The party responsible for fixing a finding. */
export type ResponsibleParty = 'server' | 'gateway' | 'backend' | 'authorization server' | 'network' | 'you';

/** The steps, in their order. */
export const STEPS = [
  'request',
  'resource metadata',
  'authorization server',
  'registration',
  'authorization',
  'token',
  'call',
] as const;

export type StepName = (typeof STEPS)[number];

/** A problem: an error or a warning. */
export interface Finding {
  readonly step: StepName;
  /** ID in docs/requirements; `null` if it violates no requirement. */
  readonly requirement: RuleName | null;
  /** `warning`: it works, but could work better or more safely. */
  readonly severity: 'error' | 'warning';
  readonly owner: ResponsibleParty;
  /** Whether it may resolve itself. */
  readonly temporary: boolean;
  /** The problem, in one sentence. */
  readonly message: string;
  /** How to fix it, in one sentence. */
  readonly remedy: string;
  /** Dates of the violated revisions the server may support. Empty if it violates no requirement. */
  readonly revisions: readonly string[];
}

/** A choice the client made, and why. */
export interface Decision {
  readonly about: string;
  readonly choice: string;
  readonly reason: string;
}

export interface Step {
  readonly name: StepName;
  /** `skipped`: not reached, or requires a user. */
  readonly state: 'ok' | 'failed' | 'skipped';
  readonly summary: string;
}

export interface Report {
  readonly server: string;
  /** ISO 8601. */
  readonly at: string;
  /** The revisions whose rules were applied. */
  readonly claims: Claims;
  readonly steps: readonly Step[];
  readonly decisions: readonly Decision[];
  readonly findings: readonly Finding[];
}

export function errorsIn({ findings }: Pick<Report, 'findings'>): readonly Finding[] {
  return findings.filter(({ severity }) => severity === 'error');
}
