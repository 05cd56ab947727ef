/** Paths of the account pages, and the tabs that link them. */
import { html } from 'hono/html';
import type { Layout } from './layout.ts';
import type { Markup } from './markup.ts';

/** The page that creates a personal access token. */
export const PERSONAL_ACCESS_TOKEN_PATH = '/connections/new-token';

/** Pages that can be a login target, by their names in the query of the login page. */
export const accountPaths = {
  connections: '/connections',
  account: '/account',
  connect: '/connect',
  approvals: '/approvals',
  console: '/admin',
} as const;

export type AccountSection = keyof typeof accountPaths;

/** A page by its name; the connections page by any other. */
export function readAccountSection(name: string | null | undefined): AccountSection {
  return name != null && Object.hasOwn(accountPaths, name) ? (name as AccountSection) : 'connections';
}

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
    html`<a href="${accountPaths[page]}"${page === current && html` aria-current="page"`}>${layout.text(`tabs.${page}`)}</a>`,
)}
</nav>`;
}

/** A message announced by screen readers. */
export function statusMessage(sentence: string | null): Markup {
  return html`${sentence !== null && html`<p class="done" role="status">${sentence}</p>`}`;
}
