/** The way between the pages of somebody who signed in on their own account. */
import { html } from 'hono/html';
import type { Frame } from './layout.ts';
import type { Markup } from './markup.ts';

/** Pages that one can sign in for without an app, by the name that an address may carry. */
export const homePaths = { connections: '/connections', account: '/account' } as const;

export type HomePage = keyof typeof homePaths;

export function tabs(frame: Frame, current: HomePage): Markup {
  const pages = Object.entries(homePaths) as [HomePage, string][];
  return html`<nav class="tabs" aria-label="${frame.text('account.nav')}">
${pages.map(
  ([page, path]) =>
    html`<a href="${path}"${page === current && html` aria-current="page"`}>${frame.text(`tabs.${page}`)}</a>`,
)}
</nav>`;
}

/** What has just happened, announced. */
export function happened(sentence: string | null): Markup {
  return html`${sentence !== null && html`<p class="done" role="status">${sentence}</p>`}`;
}
