/** What is said of a form that did not succeed: on its page, and in the status and headers of the answer. */
import type { Layout } from './layout.ts';
import type { PageOptions } from './respond-page.ts';
import { describeWait } from './times.ts';

export interface FormError {
  /** In the language of the page. */
  readonly message: string;
  readonly status: number;
  /** Seconds. */
  readonly retryAfter?: number;
}

/** Too many tries: whoever it is has to wait. */
export function tooManyAttempts(
  { text, language }: Pick<Layout, 'text' | 'language'>,
  seconds: number,
): FormError {
  const wrong = text('sign-in.error.wait', { time: describeWait(seconds, language) });
  return { message: wrong, status: 429, retryAfter: seconds };
}

/** How the page is answered that says it; `null`: nothing is wrong. */
export function formErrorOptions(
  formError: Pick<FormError, 'status' | 'retryAfter'> | null,
): Pick<PageOptions, 'status' | 'headers'> {
  const { status = 200, retryAfter } = formError ?? {};
  return { status, headers: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) } };
}
