/** What a role says at birth when it is configured wrongly: all of it at once. */

/** All that is wrong with a configuration. */
export class ConfigurationError extends Error {
  override readonly name: string = 'ConfigurationError';
  /** A sentence each. */
  readonly issues: readonly string[];

  constructor(issues: readonly string[]) {
    super(
      `The configuration has ${issues.length === 1 ? 'a fault' : `${issues.length} faults`}: ${issues.join('; ')}`,
    );
    this.issues = issues;
  }
}
