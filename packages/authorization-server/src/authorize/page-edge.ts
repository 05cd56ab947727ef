/** The edge where errors become pages: what happened, whose move it is, and a reference that the operator finds again. */

import { randomInt } from 'node:crypto';
import type { HttpResponse } from '@portcullis/http';
import { OAuthError } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { Frame } from '../pages/layout.ts';
import { type Notice, noticePage } from '../pages/notice.ts';
import { respondPage } from '../pages/respond.ts';
import { type Situation, situations } from '../pages/situations.ts';
import type { Peer, Route } from '../routes.ts';

/** What goes onto the page besides the words of its situation. */
type Details = Pick<Notice, 'action' | 'forDevelopers'> & {
  /** What stands in the places of its words. */
  readonly values?: Readonly<Record<string, string>>;
  /** Seconds. */
  readonly retryAfter?: number;
  /** For the event log only; the situation itself when left out. */
  readonly reason?: string;
};

export interface PageEdge {
  /** A route whose errors become pages. */
  route(method: Route['method'], path: string, handle: Route['handle']): Route;
  /** A page for a situation, noted in the event log. */
  refuse(endpoint: string, situation: Situation, details?: Details): Promise<HttpResponse>;
  /** A reference for a page that stands also in the event log. */
  reference(): string;
}

export function createPageEdge({ events }: Configuration, frame: Frame): PageEdge {
  const show = (situation: Situation, reference: string, status: number, details: Details = {}) => {
    const { heading, sentences } = situations[situation];
    const { values, retryAfter, reason: _reason, ...more } = details;
    const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
    return respondPage(
      noticePage(frame, {
        heading: frame.text(heading, values),
        sentences: sentences.map((sentence) => frame.text(sentence, values)),
        reference,
        ...more,
      }),
      { status, headers },
    );
  };

  const refuse: PageEdge['refuse'] = (endpoint, situation, details) => {
    const reference = newReference();
    const reason = details?.reason ?? situation;
    events({ type: 'request.rejected', endpoint, error: situation, reason, reference });
    return show(situation, reference, situations[situation].status, details);
  };

  const refuseError = (endpoint: string, error: OAuthError) => {
    const reference = newReference();
    const reason = error.reason ?? error.description;
    events({ type: 'request.rejected', endpoint, error: error.code, reason, reference });
    if (error.status >= 500 || error.retryAfter !== undefined) {
      return show('busy', reference, error.status, { retryAfter: error.retryAfter ?? 5 });
    }
    // A 401 would have to carry a challenge, and a browser would ask for a password.
    const status = error.status === 401 ? 400 : error.status;
    const situation = error.code === 'invalid_client' ? 'unknown-app' : 'bad-request';
    return show(situation, reference, status, { forDevelopers: error.description });
  };

  const fail = (endpoint: string, error: unknown) => {
    const reference = newReference();
    events({ type: 'request.failed', endpoint, reason: String(error), reference });
    return show('failed', reference, 500);
  };

  return {
    refuse,
    reference: newReference,
    route: (method, path, handle) => ({
      method,
      path,
      handle: (request, peer: Peer) =>
        handle(request, peer).catch((error: unknown) =>
          error instanceof OAuthError ? refuseError(path, error) : fail(path, error),
        ),
      refuseMethod: () => showMissing(frame, 405),
    }),
  };
}

/** A page where there is none. No event tells of it: strangers try paths all day. */
export function showMissing(frame: Frame, status: 404 | 405): Promise<HttpResponse> {
  const { heading, sentences } = situations['no-page'];
  const words = {
    heading: frame.text(heading),
    sentences: sentences.map((sentence) => frame.text(sentence)),
    action: { label: frame.text('situation.no-page.home'), href: '/connections' },
  };
  return respondPage(noticePage(frame, words), { status });
}

/** Letters and digits that nobody confuses when reading them out. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';

function newReference(): string {
  const characters = Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)]);
  return `${characters.slice(0, 4).join('')}-${characters.slice(4).join('')}`;
}
