/** Paths of the account pages, and the tabs that link them. */
import { html } from 'hono/html';
import type { Layout } from './layout.ts';
import type { Markup } from './markup.ts';

/** Account pages, by their name in the query of the login page. */
export const accountPaths = { connections: '/connections', account: '/account' } as const;

/** The page that creates a personal access token. */
export const PERSONAL_ACCESS_TOKEN_PATH = '/connections/new-token';

/** Pages that can be a login target. */
export const loginTargetPaths = {
  connections: '/connections',
  account: '/account',
  connect: '/connect',
  approvals: '/approvals',
  console: '/admin',
} as const;

export type AccountSection = keyof typeof loginTargetPaths;

/** The login page with the account page as its login target. @param again requires a fresh login even if a session is live */
export function loginPath(to: AccountSection, again = false): string {
  return `/login?to=${to}${again ? '&again=yes' : ''}`;
}

const TABS = ['connections', 'account', 'approvals'] as const;

export function accountTabs(layout: Layout, current: AccountSection): Markup {
  const pages = TABS.filter((page) => page !== 'approvals' || layout.approvals);
  return html`<nav class="tabs" aria-label="${layout.text('account.nav')}">
${pages.map(
  (page) =>
    html`<a href="${loginTargetPaths[page]}"${page === current && html` aria-current="page"`}>${layout.text(`tabs.${page}`)}</a>`,
)}
</nav>`;
}

/** A message announced by screen readers. */
export function statusMessage(sentence: string | null): Markup {
  return html`${sentence !== null && html`<p class="done" role="status">${sentence}</p>`}`;
}
