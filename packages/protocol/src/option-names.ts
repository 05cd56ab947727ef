/**
 * Invalid options: the error that reports them all at once, and suggestions for misspelled names, since a security
 * rule under a wrong name would have no effect.
 */

/** The most similar known name; `null` if none is similar. */
export function findSimilarName(word: string, known: readonly string[]): string | null {
  const near = known
    .map((candidate) => ({ candidate, steps: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, steps }) => steps <= Math.max(1, Math.floor(candidate.length / 3)))
    // A letter is left out more often than added.
    .toSorted((one, other) => one.steps - other.steps || other.candidate.length - one.candidate.length);
  return near[0]?.candidate ?? null;
}

/** Suggests the known name that a word resembles. @param otherwise what to say if it resembles none */
export function suggestName(
  word: string,
  known: readonly string[],
  otherwise = `expected one of ${known.join(', ')}`,
): string {
  const meant = findSimilarName(word, known);
  return meant === null ? otherwise : `did you mean ${meant}?`;
}

/** All member names of a type. The compiler ensures that none is missing. */
export type OptionNames<T> = Readonly<Record<keyof T & string, true>>;

/**
 * Reports members that an options object must not have: `dpop.windw: unknown option; did you mean window?`
 * @param given any value; only objects have members
 * @param at the path of the object within the options, such as `dpop.`
 */
export function unknownOptionIssues(given: unknown, known: object, at = ''): readonly string[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return [];
  return Object.keys(given)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => `${at}${name}: unknown option; ${suggestName(name, Object.keys(known))}`);
}

/**
 * Reports numbers that are set to anything else: one passed as text, for example from the environment, would be concatenated
 * instead of added. @param values by name @param least the minimum of each
 */
export function numberIssues(values: Readonly<Record<string, unknown>>, least = 0): readonly string[] {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined && !(typeof value === 'number' && value >= least))
    .map(([name]) => `${name} must be a number, ${least} or more`);
}

/** Edit distance: insertions, deletions, substitutions and swaps of neighbours (optimal string alignment). */
function distance(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        at(last, j) + 1,
        at(row, j - 1) + 1,
        at(last, j - 1) + (isSame ? 0 : 1),
        ...(isSwapped ? [at(before, j - 2) + 1] : []),
      );
    }
    [before, last] = [last, row];
  }
  return at(last, other.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}

/** Thrown at startup by a server, guard or client with invalid options; contains every issue. */
export class ConfigurationError extends Error {
  override readonly name: string = 'ConfigurationError';
  /** One sentence per issue. */
  readonly issues: readonly string[];

  constructor(issues: readonly string[]) {
    super(
      `The configuration has ${issues.length === 1 ? 'an issue' : `${issues.length} issues`}: ${issues.join('; ')}`,
    );
    this.issues = issues;
  }
}
