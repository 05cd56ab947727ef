/** What a doctor finds out about a server: words only, nothing secret among them. */

import type { Claims } from './claims.ts';

/** Who has to mend something. */
export type Owner = 'server' | 'authorization server' | 'network' | 'you';

export type StepName =
  | 'request'
  | 'resource metadata'
  | 'authorization server'
  | 'registration'
  | 'authorization'
  | 'token'
  | 'call';

/** Something that is not as it should be. */
export interface Finding {
  readonly step: StepName;
  /** Identifier in docs/requirements; `null`: no requirement says it, and yet it is in the way. */
  readonly requirement: string | null;
  /** `advice`: it works, and would work better or more safely. */
  readonly gravity: 'fault' | 'advice';
  readonly owner: Owner;
  /** Whether it may be well later without anybody changing anything. */
  readonly temporary: boolean;
  /** What is wrong, in one sentence. */
  readonly what: string;
  /** What to do about it, in one sentence. */
  readonly remedy: string;
  /** By their dates: which of the revisions that the server may speak say so. Empty: none does, and yet it is in the way. */
  readonly revisions: readonly string[];
}

/** What the client chose where it had a choice, and why. */
export interface Decision {
  readonly about:
    | 'revisions'
    | 'profile'
    | 'authorization server'
    | 'registration'
    | 'scopes'
    | 'resource'
    | 'wire'
    | 'registered client';
  readonly choice: string;
  readonly reason: string;
}

export interface Step {
  readonly name: StepName;
  /** `skipped`: it was not reached, or needs a person. */
  readonly state: 'well' | 'faulty' | 'skipped';
  readonly summary: string;
}

export type Party = 'server' | 'authorization server' | 'other';

/** A request and its answer, as they may be shown. */
export interface Exchange {
  readonly party: Party;
  /** What it was for. */
  readonly step: StepName;
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody: string;
  /** `null`: no answer came. */
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly milliseconds: number;
}

export interface Report {
  readonly server: string;
  /** ISO 8601. */
  readonly at: string;
  /** The revision by which it was met; `null`: that could not be told. */
  readonly revision: string | null;
  /** The revisions whose rules were applied. */
  readonly claims: Claims;
  readonly steps: readonly Step[];
  readonly decisions: readonly Decision[];
  readonly findings: readonly Finding[];
  readonly exchanges: readonly Exchange[];
}

export function hasIssues({ findings }: Report): boolean {
  return findings.some(({ gravity }) => gravity === 'fault');
}

/** Whether nothing is wrong but that somebody could not be reached, or is out of order. */
export function isTemporary(report: Report): boolean {
  return (
    hasIssues(report) && report.findings.every(({ gravity, temporary }) => gravity !== 'fault' || temporary)
  );
}
