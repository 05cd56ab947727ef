/** Results of rules that reject by throwing an OAuthError, for tables that name its code. */
import { OAuthError } from '@portcullis/protocol';

/** Runs what must be refused, and answers the refusal; fails when it was not refused. */
export function refusalOf(run: () => unknown): OAuthError {
  try {
    run();
  } catch (error) {
    if (error instanceof OAuthError) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}

/** Returns the result of a rule, or the code of its error. */
export function answerOf<T>(run: () => T): T | string {
  try {
    return run();
  } catch (error) {
    if (error instanceof OAuthError) return error.code;
    throw error;
  }
}
