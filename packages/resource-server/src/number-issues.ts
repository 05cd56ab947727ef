/** Numbers among options: what an environment hands on as text would be joined to a time instead of added to it. */

/**
 * Faults of numbers that are there, by their names.
 * @param least what each must be at least
 */
export function numberIssues(values: Readonly<Record<string, unknown>>, least = 0): readonly string[] {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined && !(typeof value === 'number' && value >= least))
    .map(([name]) => `${name} must be a number, ${least} or more`);
}
