/** What a role says at birth when it is configured wrongly: all of it at once. */

/** All that is wrong with a configuration. */
export class ConfigurationError extends Error {
  override readonly name: string = 'ConfigurationError';
  /** A sentence each. */
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}: ${faults.join('; ')}`,
    );
    this.faults = faults;
  }
}
