/** Errors of settings, one line for each issue. */
import { OAuthError } from '@portcullis/protocol';
import { cleanLine } from './terminal/clean.ts';

/** The program cannot start. Each issue names the setting to change. */
export class SettingsError extends Error {
  override readonly name: string = 'SettingsError';
  readonly issues: readonly string[];

  constructor(issues: readonly string[], options?: ErrorOptions) {
    super(issues.join('\n'), options);
    this.issues = issues;
  }
}

/** The result of a task; `null` after collecting the issues of its settings. */
export async function collectIssues<T>(issues: string[], task: () => T | Promise<T>): Promise<T | null> {
  try {
    return await task();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    issues.push(...error.issues);
    return null;
  }
}

/** Of an error of the system or of Node, such as `ENOENT`. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** The first line of what went wrong, for the operator, cleaned for a terminal. */
export function reasonOf(error: unknown): string {
  const reason = error instanceof OAuthError ? error.reason : undefined;
  const text = reason ?? (error instanceof Error ? error.message : String(error));
  return cleanLine(text.split('\n', 1)[0] ?? '');
}
