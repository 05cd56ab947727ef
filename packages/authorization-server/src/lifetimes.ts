/** How long what is given lasts, as an operator says it. */

/** Seconds. */
export interface Lifetimes {
  readonly accessToken: number;
  readonly code: number;
  readonly transaction: number;
  readonly session: number;
  /** A refresh token that is not used for so long dies. */
  readonly refreshIdle: number;
  /** A grant ends after so long, however often it was refreshed. */
  readonly grant: number;
  /** For so long after its rotation a refresh token still answers with the same successor. */
  readonly refreshGrace: number;
  /** A client that registered and never got a token is forgotten after so long. */
  readonly unusedClient: number;
  /** A client that registered is forgotten so long after its last token, unless it still holds a grant. */
  readonly usedClient: number;
}

/** What lasts how long when the operator says nothing. */
export const defaultLifetimes: Lifetimes = {
  accessToken: 600,
  code: 60,
  transaction: 600,
  session: 14 * 86_400,
  refreshIdle: 30 * 86_400,
  grant: 365 * 86_400,
  refreshGrace: 30,
  unusedClient: 86_400,
  usedClient: 90 * 86_400,
};

export function judgeLifetimes(chosen: Partial<Lifetimes>, issues: string[]): Lifetimes {
  const lifetimes = { ...defaultLifetimes, ...chosen };
  for (const [name, seconds] of Object.entries(lifetimes)) {
    const least = name === 'refreshGrace' ? 0 : 1;
    if (!Number.isSafeInteger(seconds) || seconds < least) {
      issues.push(`lifetimes.${name} must be whole seconds, at least ${least}`);
    }
  }
  return Object.freeze(lifetimes);
}
