/** What a law answers when it refuses: the error that it threw, so that a table can name its code. */
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

/** The answer of a law, or the code with which it refused. */
export function answerOf<T>(run: () => T): T | string {
  try {
    return run();
  } catch (error) {
    if (error instanceof OAuthError) return error.code;
    throw error;
  }
}
