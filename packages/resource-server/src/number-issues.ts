/**
 * Validates numeric options: a number passed as text, for example from the environment, would be concatenated instead
 * of added.
 */

/** Returns the issues of the numbers that are set, by name. @param least the minimum of each */
export function numberIssues(values: Readonly<Record<string, unknown>>, least = 0): readonly string[] {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined && !(typeof value === 'number' && value >= least))
    .map(([name]) => `${name} must be a number, ${least} or more`);
}
