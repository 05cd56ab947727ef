/** What can go wrong before the eyes of a person, and by which texts they are told. */
import type { TextName } from './texts/texts.ts';

export type ErrorPage =
  | 'unknown-app'
  | 'bad-request'
  | 'no-flow'
  | 'gone'
  | 'other-browser'
  | 'no-cookie'
  | 'stale-form'
  | 'bad-form'
  | 'spent-link'
  | 'set-up'
  | 'no-page'
  | 'no-entry'
  | 'declined-there'
  | 'third-party-away'
  | 'third-party-astray'
  | 'long-answer'
  | 'busy'
  | 'failed';

/** What happened, and whose move it is. */
export interface ErrorPageContent {
  /** The HTTP status, where no error says another. */
  readonly status: number;
  readonly heading: TextName;
  readonly sentences: readonly TextName[];
}

export const errorPages: Readonly<Record<ErrorPage, ErrorPageContent>> = {
  'unknown-app': {
    status: 400,
    heading: 'situation.unknown-app',
    sentences: ['situation.unknown-app.1', 'situation.unknown-app.2'],
  },
  'bad-request': {
    status: 400,
    heading: 'situation.bad-request',
    sentences: ['situation.bad-request.1', 'situation.bad-request.2'],
  },
  'no-flow': { status: 400, heading: 'situation.no-flow', sentences: ['situation.no-flow.1'] },
  gone: { status: 400, heading: 'situation.gone', sentences: ['situation.gone.1', 'situation.gone.2'] },
  'other-browser': {
    status: 403,
    heading: 'situation.other-browser',
    sentences: ['situation.other-browser.1', 'situation.other-browser.2'],
  },
  'no-cookie': {
    status: 403,
    heading: 'situation.no-cookie',
    sentences: ['situation.no-cookie.1', 'situation.no-cookie.2'],
  },
  'stale-form': {
    status: 403,
    heading: 'situation.stale-form',
    sentences: ['situation.stale-form.1', 'situation.stale-form.2'],
  },
  'bad-form': {
    status: 400,
    heading: 'situation.bad-form',
    sentences: ['situation.bad-form.1', 'situation.bad-form.2'],
  },
  'spent-link': {
    status: 403,
    heading: 'situation.spent-link',
    sentences: ['situation.spent-link.1', 'situation.spent-link.2'],
  },
  'set-up': { status: 403, heading: 'situation.set-up', sentences: ['situation.set-up.1'] },
  'no-page': { status: 404, heading: 'situation.no-page', sentences: ['situation.no-page.1'] },
  'no-entry': {
    status: 403,
    heading: 'situation.no-entry',
    sentences: ['situation.no-entry.1', 'situation.no-entry.2'],
  },
  'declined-there': { status: 403, heading: 'sign-in.failed-title', sentences: ['sign-in.provider-refused'] },
  'third-party-away': {
    status: 503,
    heading: 'situation.third-party-away',
    sentences: ['situation.third-party-away.1', 'situation.third-party-away.2'],
  },
  'third-party-astray': {
    status: 502,
    heading: 'situation.third-party-astray',
    sentences: ['situation.third-party-astray.1', 'situation.third-party-astray.2'],
  },
  'long-answer': {
    status: 413,
    heading: 'situation.third-party-astray',
    sentences: ['situation.third-party-astray.1', 'situation.third-party-astray.2'],
  },
  busy: { status: 503, heading: 'situation.busy', sentences: ['situation.busy.1'] },
  failed: { status: 500, heading: 'situation.failed', sentences: ['situation.failed.1'] },
};
