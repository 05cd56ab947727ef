/** View of the account page: login methods, sessions, deletion, and notices about what has just changed. */
import { html } from 'hono/html';
import type { SessionRecord } from '../store/index.ts';
import { accountPaths, accountTabs, statusMessage } from '../ui/account-tabs.ts';
import { hiddenFields, type Layout, pageScript, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { dateAndTime } from '../ui/times.ts';
import { mfaSection } from './mfa-view.ts';
import { type ListedPasskey, passkeyList } from './passkeys-view.ts';

/** A browser session; its hash identifies it in forms. */
type ListedSession = Pick<SessionRecord, 'hash' | 'browser' | 'address' | 'createdAt'>;

/** Notices by name, as in the query of the account page. */
const accountNotices = [
  'signed-out',
  'password-changed',
  'passkey-added',
  'passkey-removed',
  'codes-off',
  'reset',
] as const;

export type AccountNotice = (typeof accountNotices)[number];

export interface LoginSettings {
  /** `null`: not available. */
  readonly passkeys: readonly ListedPasskey[] | null;
  /** How many are left; `null`: MFA is off. */
  readonly recoveryCodes: number | null;
}

export interface AccountPage {
  readonly email: string;
  /** Whether the user administers this installation, in the console. */
  readonly administers: boolean;
  readonly sessions: readonly ListedSession[];
  /** The hash of the one that shows the page. */
  readonly currentSession: string;
  /** Login methods; `null`: not managed by this server. */
  readonly login: LoginSettings | null;
  /** Epoch seconds. */
  readonly now: number;
  readonly notice: AccountNotice | null;
  /** CSRF token of the logout form. */
  readonly logoutToken: string;
  /** CSRF token of all other forms. */
  readonly token: string;
}

export function accountPage(layout: Layout, page: AccountPage): Markup {
  const others = page.sessions.filter(({ hash }) => hash !== page.currentSession);
  return renderPage(
    layout,
    layout.text('tabs.account'),
    html`<div class="head">
<h1>${layout.text('account.heading')}</h1>
<p class="fact">${layout.say('consent.signed-in', { email: html`<bdi>${page.email}</bdi>` })}</p>
</div>
${accountTabs(layout, 'account')}
${page.administers && html`<p class="fact"><a href="${accountPaths.console}">${layout.text('account.console')}</a></p>`}
${statusMessage(page.notice === null ? null : layout.text(`account.notice.${page.notice}`))}
${page.login !== null && signInSections(layout, page.login, page)}
<section class="panel">
<h2>${layout.text('account.sessions')}</h2>
${sessionList(layout, page)}
${
  others.length > 1 &&
  html`<form class="once" method="post" action="/account/sessions">
${hiddenFields({ token: page.token, session: 'others' })}
<button class="button">${layout.text('account.sign-out-others')}</button>
</form>`
}
</section>
<section class="panel destructive">
<h2>${layout.text('account.remove')}</h2>
<p class="fact">${layout.text('account.remove-why')}</p>
<a class="button grave" href="/account/remove">${layout.text('account.remove')}</a>
</section>
${pageScript(layout)}`,
    undefined,
    'wide',
  );
}

/** From this number of sessions on, only the most recent ones are shown at once. */
const FOLDED_FROM = 10;
const SHOWN_AT_ONCE = 5;

function sessionList(layout: Layout, page: AccountPage): Markup {
  const rows = page.sessions.map((session, index) => row(layout, session, index, page));
  if (rows.length < FOLDED_FROM) return html`<ul class="rows close">${rows}</ul>`;
  const number = rows.length - SHOWN_AT_ONCE;
  return html`<ul class="rows close">${rows.slice(0, SHOWN_AT_ONCE)}</ul>
<details class="app host"><summary><span class="name">${layout.text('account.more-sessions', { number })}</span></summary><ul class="rows close">${rows.slice(SHOWN_AT_ONCE)}</ul></details>`;
}

function signInSections(
  layout: Layout,
  { passkeys, recoveryCodes }: LoginSettings,
  page: AccountPage,
): Markup {
  return html`<section class="panel">
<div class="beside">
<h2>${layout.text('account.password')}</h2>
<a class="button" href="/account/password" aria-label="${layout.text('password.change')}">${layout.text('password.submit')}</a>
</div>
</section>
${
  passkeys !== null &&
  html`<section class="panel">
<h2>${layout.text('account.passkeys')}</h2>
${passkeyList(layout, passkeys, page.token, page.now)}
</section>`
}
<section class="panel">
<h2>${layout.text('account.codes')}</h2>
${mfaSection(layout, recoveryCodes, page.token)}
</section>`;
}

/** Whether another session looks the same up to the minute, so that users need seconds to distinguish them. */
function hasLookalike(one: ListedSession, all: readonly ListedSession[]): boolean {
  const words = ({ browser, address, createdAt: since }: ListedSession) =>
    JSON.stringify([browser, address, Math.floor(since / 60)]);
  return all.some((other) => other.hash !== one.hash && words(other) === words(one));
}

function row(layout: Layout, session: ListedSession, index: number, page: AccountPage): Markup {
  const { hash, address, browser, createdAt } = session;
  const isCurrent = hash === page.currentSession;
  const name = describeBrowser(layout, browser);
  const time = dateAndTime(layout, createdAt, hasLookalike(session, page.sessions));
  const about = `browser-${index}`;
  return html`<li class="beside">
<div>
<p>${name}${isCurrent && html` <em class="new">${layout.text('account.this')}</em>`}</p>
<p class="fact" id="${about}">${layout.say('account.since', { time })} ${
    address !== null && layout.say('account.from', { address: html`<code>${address}</code>` })
  }</p>
</div>
${
  isCurrent
    ? html`<form method="post" action="/logout">${hiddenFields({ token: page.logoutToken })}<button class="button">${layout.text('account.sign-out')}</button></form>`
    : html`<form class="once" method="post" action="/account/sessions">${hiddenFields({ token: page.token, session: hash })}<button class="button" aria-label="${layout.text('account.sign-out-of', { browser: name })}" aria-describedby="${about}">${layout.text('account.sign-out')}</button></form>`
}
</li>`;
}

/** For example `Firefox on Linux`, in the language of the page. */
export function describeBrowser(layout: Layout, name: string | null): string {
  if (name === null) return layout.text('account.browser');
  const [browser = '', system] = name.split(' on ');
  return system === undefined ? name : layout.text('account.browser-on', { browser, system });
}

/** The account page with a notice. */
export function accountNoticePath(news: AccountNotice): string {
  return `${accountPaths.account}?news=${news}`;
}

export function readAccountNotice(name: string | undefined): AccountNotice | null {
  return accountNotices.find((news) => news === name) ?? null;
}
