/** The way between the pages of somebody who signed in on their own account. */
import { html } from 'hono/html';
import type { Layout } from './layout.ts';
import type { Markup } from './markup.ts';

/** Pages that one can sign in for without an app, by the name that an address may carry. */
export const accountPaths = { connections: '/connections', account: '/account' } as const;

export type AccountSection = keyof typeof accountPaths;

/** The login page with the account page as its login target. @param again requires a fresh login even if a session is live */
export function loginPath(to: AccountSection, again = false): string {
  return `/login?to=${to}${again ? '&again=yes' : ''}`;
}

export function accountTabs(layout: Layout, current: AccountSection): Markup {
  const pages = Object.entries(accountPaths) as [AccountSection, string][];
  return html`<nav class="tabs" aria-label="${layout.text('account.nav')}">
${pages.map(
  ([page, path]) =>
    html`<a href="${path}"${page === current && html` aria-current="page"`}>${layout.text(`tabs.${page}`)}</a>`,
)}
</nav>`;
}

/** What has just happened, announced. */
export function statusMessage(sentence: string | null): Markup {
  return html`${sentence !== null && html`<p class="done" role="status">${sentence}</p>`}`;
}
