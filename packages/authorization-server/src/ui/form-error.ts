/** Errors of submitted forms: the message on the page, and status and headers of the response. */
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

/** The error for throttled attempts: 429 with `Retry-After`. */
export function tooManyAttempts(
  { text, language }: Pick<Layout, 'text' | 'language'>,
  seconds: number,
): FormError {
  const wrong = text('sign-in.error.wait', { time: describeWait(seconds, language) });
  return { message: wrong, status: 429, retryAfter: seconds };
}

/** Status and headers for a page with this error; `null`: no error. */
export function formErrorOptions(
  formError: Pick<FormError, 'status' | 'retryAfter'> | null,
): Pick<PageOptions, 'status' | 'headers'> {
  const { status = 200, retryAfter } = formError ?? {};
  return { status, headers: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) } };
}
