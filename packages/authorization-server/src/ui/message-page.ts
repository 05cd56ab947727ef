/** Pages that say what happened, whose move it is, and one thing to do. */

import type { HttpResponse } from '@portcullis/http';
import { html } from 'hono/html';
import { type Layout, renderPage } from './layout.ts';
import type { Markup } from './markup.ts';
import { respondPage } from './respond-page.ts';

export interface MessagePage {
  readonly heading: string;
  /** What happened, and whose move it is. */
  readonly sentences: readonly string[];
  /** One action. A link: it must be an address of this server, or an admitted redirect target. */
  readonly action?: { readonly label: string; readonly href: string; readonly place?: string };
  /** One safe sentence for whoever builds the app. */
  readonly forDevelopers?: string;
  /** What the operator finds the event by. */
  readonly reference?: string;
}

export function messagePage(layout: Layout, notice: MessagePage): Markup {
  const { heading, sentences, action, forDevelopers, reference } = notice;
  return renderPage(
    layout,
    heading,
    html`<div class="head">
<h1>${heading}</h1>
${sentences.map((sentence) => html`<p>${sentence}</p>`)}
</div>
${
  action !== undefined &&
  html`<div class="head">
<a class="button" href="${action.href}">${action.label}</a>
${action.place !== undefined && html`<p class="fact">${layout.say('message.takes-to', { place: html`<code>${action.place}</code>` })}</p>`}
</div>`
}
${
  (forDevelopers !== undefined || reference !== undefined) &&
  html`<div class="head fact">
${forDevelopers !== undefined && html`<p>${layout.say('message.for-developers', { sentence: html`<span lang="en">${forDevelopers}</span>` })}</p>`}
${reference !== undefined && html`<p class="reference">${layout.say('message.reference', { reference: html`<code>${reference}</code>` })}</p>`}
</div>`
}`,
    action?.href.startsWith('/') ? action.href : undefined,
  );
}

/**
 * Chromium holds every redirect that follows a form to the `form-action` of its page. The pages on which people type
 * passwords name no origin but ours there, so the redirect becomes a page, which begins a way of its own.
 */
export function redirectByPage(layout: Layout, answer: HttpResponse): HttpResponse | Promise<HttpResponse> {
  const location = answer.headers['location'];
  if (location === undefined) return answer;
  const page = messagePage(layout, {
    heading: layout.text('redirect.heading'),
    sentences: [layout.text('redirect.why')],
    action: { label: layout.text('redirect.go'), href: location },
  });
  return respondPage(page, { cookies: answer.cookies, headers: { refresh: `0; url=${location}` } });
}
