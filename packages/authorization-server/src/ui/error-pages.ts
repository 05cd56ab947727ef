/** The error pages: HTTP status and texts of everything that can go wrong in the browser. */
import type { ErrorActor } from './marks.ts';
import type { TextName } from './texts/texts.ts';

export type ErrorPage =
  | 'unknown-app'
  | 'app-not-found'
  | 'bad-request'
  | 'no-transaction'
  | 'gone'
  | 'other-browser'
  | 'no-cookie'
  | 'stale-form'
  | 'bad-form'
  | 'used-link'
  | 'used-sign-in-link'
  | 'used-connect-link'
  | 'other-account'
  | 'unknown-approval'
  | 'already-set-up'
  | 'not-found'
  | 'login-not-allowed'
  | 'login-declined'
  | 'provider-unavailable'
  | 'provider-error'
  | 'response-too-long'
  | 'busy'
  | 'failed';

/** Says what happened and who can fix it. */
export interface ErrorPageContent {
  /** HTTP status, unless the error has its own. */
  readonly status: number;
  /** Who has to act. */
  readonly actor: ErrorActor;
  readonly heading: TextName;
  readonly sentences: readonly TextName[];
}

export const errorPages: Readonly<Record<ErrorPage, ErrorPageContent>> = {
  'unknown-app': {
    status: 400,
    actor: 'you',
    heading: 'error.unknown-app',
    sentences: ['error.unknown-app.1', 'error.unknown-app.2'],
  },
  'app-not-found': {
    status: 400,
    actor: 'administrator',
    heading: 'error.app-not-found',
    sentences: ['error.app-not-found.1', 'error.app-not-found.2'],
  },
  'bad-request': {
    status: 400,
    actor: 'app',
    heading: 'error.bad-request',
    sentences: ['error.bad-request.1', 'error.bad-request.2'],
  },
  'no-transaction': {
    status: 400,
    actor: 'you',
    heading: 'error.no-transaction',
    sentences: ['error.no-transaction.1'],
  },
  gone: { status: 400, actor: 'you', heading: 'error.gone', sentences: ['error.gone.1', 'error.gone.2'] },
  'other-browser': {
    status: 403,
    actor: 'you',
    heading: 'error.other-browser',
    sentences: ['error.other-browser.1', 'error.other-browser.2'],
  },
  'other-account': {
    status: 403,
    actor: 'you',
    heading: 'error.other-account',
    sentences: ['error.other-account.1', 'error.other-account.2'],
  },
  'unknown-approval': {
    status: 404,
    actor: 'you',
    heading: 'error.unknown-approval',
    sentences: ['error.unknown-approval.1', 'error.unknown-approval.2'],
  },
  'no-cookie': {
    status: 403,
    actor: 'you',
    heading: 'error.no-cookie',
    sentences: ['error.no-cookie.1', 'error.no-cookie.2'],
  },
  'stale-form': {
    status: 403,
    actor: 'you',
    heading: 'error.stale-form',
    sentences: ['error.stale-form.1', 'error.stale-form.2'],
  },
  'bad-form': {
    status: 400,
    actor: 'you',
    heading: 'error.bad-form',
    sentences: ['error.bad-form.1', 'error.bad-form.2'],
  },
  'used-connect-link': {
    status: 403,
    actor: 'you',
    heading: 'error.used-link',
    sentences: ['error.used-link.1', 'error.used-connect-link.2'],
  },
  'used-link': {
    status: 403,
    actor: 'administrator',
    heading: 'error.used-link',
    sentences: ['error.used-link.1', 'error.used-link.2'],
  },
  'used-sign-in-link': {
    status: 403,
    actor: 'you',
    heading: 'error.used-link',
    sentences: ['error.used-link.1', 'error.used-sign-in-link.2'],
  },
  'already-set-up': {
    status: 403,
    actor: 'you',
    heading: 'error.already-set-up',
    sentences: ['error.already-set-up.1'],
  },
  'not-found': { status: 404, actor: 'you', heading: 'error.not-found', sentences: ['error.not-found.1'] },
  'login-not-allowed': {
    status: 403,
    actor: 'administrator',
    heading: 'error.login-not-allowed',
    sentences: ['error.login-not-allowed.1', 'error.login-not-allowed.2'],
  },
  'login-declined': {
    status: 403,
    actor: 'you',
    heading: 'sign-in.failed-title',
    sentences: ['sign-in.provider-refused'],
  },
  'provider-unavailable': {
    status: 503,
    actor: 'later',
    heading: 'error.provider-unavailable',
    sentences: ['error.provider-unavailable.1', 'error.provider-unavailable.2'],
  },
  'provider-error': {
    status: 502,
    actor: 'later',
    heading: 'error.provider-error',
    sentences: ['error.provider-error.1', 'error.provider-error.2'],
  },
  'response-too-long': {
    status: 413,
    actor: 'later',
    heading: 'error.provider-error',
    sentences: ['error.provider-error.1', 'error.provider-error.2'],
  },
  busy: { status: 503, actor: 'later', heading: 'error.busy', sentences: ['error.busy.1'] },
  failed: { status: 500, actor: 'later', heading: 'error.failed', sentences: ['error.failed.1'] },
};
