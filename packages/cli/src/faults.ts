/** What can be wrong with settings, and how it is told: one line each, naming the setting. */

/** What is wrong with a value: a sentence without a subject, such as `must be a whole number`. */
export class Issue extends Error {
  override readonly name: string = 'Fault';
  /** Where in a structured value: `['0', 'name']`. */
  readonly path: readonly string[];
  /** The member that was meant, where another name was written. */
  readonly meant: string | null;

  constructor(sentence: string, path: readonly string[] = [], meant: string | null = null) {
    super(sentence);
    this.path = path;
    this.meant = meant;
  }
}

/** Several things that are wrong with one value. */
export class Issues extends Error {
  override readonly name: string = 'Faults';
  readonly all: readonly Issue[];
  /** The value without them, of the same shape, for whoever judges the rest; `undefined`: there is none. */
  readonly rest: unknown;

  constructor(all: readonly Issue[], rest?: unknown) {
    super(all.map(({ message }) => message).join('; '));
    this.all = all;
    this.rest = rest;
  }
}

/**
 * What a reader read. When it threw, its faults are kept for later, and this is what remains without them.
 * @param place where in a structured value it read
 */
export function readOn<T>(issues: Issue[], read: () => T, place: readonly string[] = []): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Issue || error instanceof Issues)) throw error;
    const found = error instanceof Issue ? [error] : error.all;
    issues.push(...found.map(({ message, path, meant }) => new Issue(message, [...place, ...path], meant)));
    return error instanceof Issues ? (error.rest as T | undefined) : undefined;
  }
}

/** Why the program cannot start. Each line names the setting to change. */
export class SettingsError extends Error {
  override readonly name: string = 'SettingsError';
  readonly issues: readonly string[];

  constructor(issues: readonly string[], options?: ErrorOptions) {
    super(issues.join('\n'), options);
    this.issues = issues;
  }
}

/** What a task came to; when its settings are at fault, the faults are kept for later and there is nothing. */
export async function collecting<T>(issues: string[], task: () => T | Promise<T>): Promise<T | null> {
  try {
    return await task();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    issues.push(...error.issues);
    return null;
  }
}

/** The first line of what somebody threw, without anything that could control a terminal. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return (text.split('\n', 1)[0] ?? '').replace(/[^\x20-\x7e\u00a0-\ud7ff]/g, '?');
}
