/** The error that a server, guard or client throws at startup for invalid options, with all issues at once. */

/** Thrown for invalid options; contains every issue. */
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
