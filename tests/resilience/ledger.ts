/** What clients were told, and which requests they have no response to: the basis for checking a killed server. */
import type { Code } from './browser.ts';

/** A family of tokens, as its client sees it. */
export interface Family {
  /** Access tokens that it was given, all of which still run. */
  readonly access: string[];
  /** The refresh token that it was given last. */
  refresh: string;
  /** The one before: answered with the same successor until that is used. */
  former: string | null;
  /** Whether the answer to a refresh never came. */
  isUnsure: boolean;
  /** Whether it asked for the end; `asked`: and was not told of it. */
  ended: 'no' | 'asked' | 'yes';
}

/** A code, as its client sees it. */
export interface HeldCode extends Code {
  /** `sent`: it was presented, and no answer came. */
  state: 'unused' | 'sent' | 'redeemed';
  /** What it gave. */
  family: Family | null;
}

interface Registration {
  readonly id: string;
  /** Where it can be read, and by what. */
  readonly path: string;
  readonly token: string;
}

export interface Ledger {
  readonly codes: HeldCode[];
  readonly families: Family[];
  readonly registrations: Registration[];
}

export function createLedger(): Ledger {
  return { codes: [], families: [], registrations: [] };
}

/** Roughly how much clients were told. */
export function countSteps({ codes, families, registrations }: Ledger): number {
  const refreshes = families.reduce((count, { access }) => count + access.length, 0);
  return codes.length + registrations.length + refreshes;
}
