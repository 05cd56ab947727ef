/** What can be wrong with settings, and how it is told: one line each, naming the setting. */

/** What is wrong with a value: a sentence without a subject, such as `must be a whole number`. */
export class Fault extends Error {
  override readonly name: string = 'Fault';
  /** Where in a structured value: `['0', 'name']`. */
  readonly path: readonly string[];

  constructor(sentence: string, path: readonly string[] = []) {
    super(sentence);
    this.path = path;
  }
}

/** Why the program cannot start. Each line names the setting to change. */
export class SettingsError extends Error {
  override readonly name: string = 'SettingsError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[], options?: ErrorOptions) {
    super(faults.join('\n'), options);
    this.faults = faults;
  }
}

/** The first line of what somebody threw, without anything that could control a terminal. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return (text.split('\n', 1)[0] ?? '').replace(/[^\x20-\x7e\u00a0-\ud7ff]/g, '?');
}
