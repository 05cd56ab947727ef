/** What is said of a form that did not succeed: on its page, and in the status and headers of the answer. */
import type { Frame } from '../pages/layout.ts';
import type { PageOptions } from '../pages/respond.ts';
import { waitInWords } from '../pages/times.ts';

export interface Complaint {
  /** In the language of the page. */
  readonly wrong: string;
  readonly status: number;
  /** Seconds. */
  readonly retryAfter?: number;
}

/** Too many tries: whoever it is has to wait. */
export function askToWait({ text, language }: Pick<Frame, 'text' | 'language'>, seconds: number): Complaint {
  const wrong = text('sign-in.wrong.wait', { time: waitInWords(seconds, language) });
  return { wrong, status: 429, retryAfter: seconds };
}

/** How the page is answered that says it; `null`: nothing is wrong. */
export function answerOptions(
  complaint: Pick<Complaint, 'status' | 'retryAfter'> | null,
): Pick<PageOptions, 'status' | 'headers'> {
  const { status = 200, retryAfter } = complaint ?? {};
  return { status, headers: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) } };
}
