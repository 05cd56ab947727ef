/** Error pages: what happened, who can fix it, and a reference that is also in the audit log. */
import { randomInt } from 'node:crypto';
import type { HttpResponse } from '@portcullis/http';
import { currentTracer, OAuthError } from '@portcullis/protocol';
import type { RejectionFacts } from '../audit/events.ts';
import type { ServerContext } from '../context.ts';
import { type ErrorPage, errorPageContent } from '../ui/error-pages.ts';
import type { Layout } from '../ui/layout.ts';
import { type MessagePage, messagePage } from '../ui/message-page.ts';
import { respondPage } from '../ui/respond-page.ts';
import { RejectedClientRequest } from './rejected-client-request.ts';

/** What the page shows besides its text. */
type Details = Pick<MessagePage, 'action' | 'forDevelopers'> & {
  /** Values of the placeholders in its text. */
  readonly values?: Readonly<Record<string, string>>;
  /** Seconds. */
  readonly retryAfter?: number;
  /** For the audit log only; the name of the page by default. */
  readonly reason?: string;
  /** For the audit log only. */
  readonly facts?: RejectionFacts;
};

/** Reasons in the audit log, of pages that do not have one of their own. */
const reasons: Readonly<Partial<Record<ErrorPage, string>>> = {
  'no-transaction': 'the request names no authorization transaction',
  'no-cookie': 'the browser did not send the cookie of the authorization transaction',
  'other-browser': 'another browser began the authorization transaction',
  'other-account': 'the link or redirect is for another user than the one signed in',
  'unknown-approval': 'the approval has ended, or is not for the user who is signed in',
  'stale-form': 'the form was sent by another site, or its CSRF token does not match or has expired',
  'used-link': 'the link was used, has expired, or was replaced by a newer one',
  'used-reset-link': 'the link was used, has expired, or was replaced by a newer one',
  'used-sign-in-link': 'the link was used or has expired, or another browser requested it',
  'used-connect-link': 'the link was used, has expired, or its grant or backend is gone',
  'unknown-app': 'the client was removed or disabled meanwhile',
};

/** What a request names is not there, or not for this browser. */
export interface MissingTransaction extends Pick<Details, 'reason' | 'facts'> {
  readonly missing: ErrorPage;
}

export type PageErrors = ReturnType<typeof createPageErrors>;

export function createPageErrors({ events }: Pick<ServerContext, 'events'>, layout: Layout) {
  const show = (errorPage: ErrorPage, reference: string, status: number, details: Details = {}) => {
    const { heading, sentences, actor } = errorPageContent(errorPage);
    const { values, retryAfter, reason: _reason, facts: _facts, ...more } = details;
    const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
    const traceId = currentTracer()?.active()?.traceId;
    return respondPage(
      messagePage(layout, {
        heading: layout.text(heading, values),
        sentences: sentences.map((sentence) => layout.text(sentence, values)),
        actor,
        reference,
        ...(traceId !== undefined && { traceId }),
        ...more,
      }),
      { status, headers, script: true },
    );
  };

  const showError = (endpoint: string, errorPage: ErrorPage, details?: Details) => {
    const reference = newReference();
    const reason = details?.reason ?? reasons[errorPage] ?? errorPage;
    events({ type: 'request.rejected', endpoint, error: errorPage, reason, reference, ...details?.facts });
    return show(errorPage, reference, errorPageContent(errorPage).status, details);
  };

  const showOAuthError = (endpoint: string, error: OAuthError) => {
    const reference = newReference();
    const reason = error.reason ?? error.description;
    const { facts, documentHost: host } = error instanceof RejectedClientRequest ? error.explanation : {};
    events({ type: 'request.rejected', endpoint, error: error.code, reason, reference, ...facts });
    // A 401 would have to carry a challenge, and a browser would ask for a password.
    const status = error.status === 401 ? 400 : error.status;
    const { description: forDevelopers, retryAfter } = error;
    const details = { forDevelopers, ...(retryAfter !== undefined && { retryAfter }) };
    if (host !== undefined) return show('app-not-found', reference, status, { ...details, values: { host } });
    if (status >= 500 || retryAfter !== undefined)
      return show('busy', reference, status, { retryAfter: retryAfter ?? 5 });
    return show(error.code === 'invalid_client' ? 'unknown-app' : 'bad-request', reference, status, details);
  };

  const fail = (endpoint: string, error: unknown) => {
    const reference = newReference();
    events({ type: 'request.failed', endpoint, reason: String(error), reference });
    return show('failed', reference, 500);
  };

  return {
    /** Shows an error page, and records it as an event. */
    show: showError,
    /** Shows why a transaction cannot continue, and records it as an event. */
    showMissing: (endpoint: string, { missing, ...details }: MissingTransaction): Promise<HttpResponse> =>
      showError(endpoint, missing, details),
    /** Rejects a form whose CSRF token does not match. @param path of its page */
    rejectForm: (endpoint: string, path: string): Promise<HttpResponse> =>
      showError(endpoint, 'stale-form', {
        action: { label: layout.text('account.review-again'), href: path },
      }),
    /** A new reference, for a page and its event. */
    newReference,
    /** Shows the error page of a thrown error, and records it as an event. */
    respond: (endpoint: string, error: unknown): Promise<HttpResponse> =>
      error instanceof OAuthError ? showOAuthError(endpoint, error) : fail(endpoint, error),
  };
}

/** The page for an unknown path. It records no event, because scanners request such paths all the time. */
export function respondNotFoundPage(layout: Layout, status: 404 | 405): Promise<HttpResponse> {
  const { heading, sentences, actor } = errorPageContent('not-found');
  const words = {
    actor,
    heading: layout.text(heading),
    sentences: sentences.map((sentence) => layout.text(sentence)),
    action: { label: layout.text('error.not-found.home'), href: '/connections' },
  };
  return respondPage(messagePage(layout, words), { status });
}

/** Letters and digits that are not confused when read aloud. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';

/** A reference that an error page shows and its event has. */
export function newReference(): string {
  const characters = Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)]);
  return `${characters.slice(0, 4).join('')}-${characters.slice(4).join('')}`;
}
