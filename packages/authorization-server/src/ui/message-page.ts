/** Pages with a message and at most one action: errors, confirmations and redirects. */
import type { HttpResponse } from '@portcullis/http';
import { html } from 'hono/html';
import { type Layout, pageScript, renderPage } from './layout.ts';
import { actorIcons, type ErrorActor, tick } from './marks.ts';
import type { Markup } from './markup.ts';
import { respondPage } from './respond-page.ts';

export interface MessagePage {
  readonly heading: string;
  /** Success is marked with a tick. */
  readonly isDone?: boolean;
  /** Who has to act on an error. */
  readonly actor?: ErrorActor;
  /** What happened and who can fix it. */
  readonly sentences: readonly (string | Markup)[];
  /** A link: only to this server or to a validated redirect target (no open redirect). */
  readonly action?: { readonly label: string; readonly href: string; readonly target?: string };
  /** For the app's developer; must not contain secrets. */
  readonly forDevelopers?: string;
  /** Identifies the event in the audit log. */
  readonly reference?: string;
  /** Beside a reference: the trace of the request. */
  readonly traceId?: string;
}

export function messagePage(layout: Layout, notice: MessagePage): Markup {
  const { heading, sentences, action, forDevelopers, reference, traceId, actor, isDone = false } = notice;
  return renderPage(
    layout,
    heading,
    html`<div class="head">
${isDone && tick}
${actor !== undefined && html`<p class="actor">${actorIcons[actor]}${layout.text(`error.actor.${actor}`)}</p>`}
<h1${isDone && html` class="display"`}>${heading}</h1>
${sentences.map((sentence) => html`<p>${sentence}</p>`)}
</div>
${
  action !== undefined &&
  html`<div class="head">
<a class="button" href="${action.href}">${action.label}</a>
${action.target !== undefined && html`<p class="fact">${layout.say('message.takes-to', { target: html`<code>${action.target}</code>` })}</p>`}
</div>`
}
${
  (forDevelopers !== undefined || reference !== undefined) &&
  html`<div class="head fact">
${forDevelopers !== undefined && html`<p>${layout.say('message.for-developers', { sentence: html`<span lang="en">${forDevelopers}</span>` })}</p>`}
${reference !== undefined && html`<p class="reference">${layout.say('message.reference', { reference: html`<code>${reference}</code>` })} <button type="button" class="link" data-copy="${reference}" data-copied="${layout.text('connect.copied')}" hidden>${layout.text('connect.copy')}</button></p>`}
${traceId !== undefined && html`<p class="reference">${layout.say('message.trace', { trace: html`<code>${traceId}</code>` })}</p>`}
</div>`
}
${reference !== undefined && pageScript(layout)}`,
    action?.href.startsWith('/') ? action.href : undefined,
  );
}

/**
 * Replaces a redirect to another origin after a form by a page that redirects. Chromium applies the `form-action` of the form's
 * page to redirects, and login pages allow this origin only.
 * @param about what happened
 */
export function redirectByPage(
  layout: Layout,
  response: HttpResponse,
  about: Pick<MessagePage, 'heading' | 'sentences'> = {
    heading: layout.text('redirect.heading'),
    sentences: [layout.text('redirect.why')],
  },
): HttpResponse | Promise<HttpResponse> {
  const location = response.headers['location'];
  if (location === undefined) return response;
  const page = messagePage(layout, {
    ...about,
    action: { label: layout.text('redirect.go'), href: location },
  });
  return respondPage(page, { cookies: response.cookies, headers: { refresh: `0; url=${location}` } });
}
