/** The page about how and where one is signed in. */
import { html } from 'hono/html';
import { codesSection } from './codes.ts';
import { definePage, type Page } from './define-page.ts';
import { type Frame, hidden, layout } from './layout.ts';
import type { Markup } from './markup.ts';
import { type ListedPasskey, passkeyList } from './passkeys.ts';
import { happened, tabs } from './tabs.ts';
import { moment } from './times.ts';

/** A browser in which somebody is signed in. */
interface SignedInBrowser {
  /** What a form names it by. */
  readonly id: string;
  readonly name: string | null;
  readonly address: string | null;
  /** Epoch seconds. */
  readonly since: number;
  readonly isThisOne: boolean;
}

/** What has just happened, by the name that an address may carry. */
export const accountNews = [
  'signed-out',
  'password-changed',
  'passkey-added',
  'passkey-removed',
  'codes-off',
  'reset',
] as const;

export type AccountNews = (typeof accountNews)[number];

export interface SignInSettings {
  /** `null` where there are none. */
  readonly passkeys: readonly ListedPasskey[] | null;
  /** How many are left; `null` when no code from an app is asked for. */
  readonly recoveryCodes: number | null;
}

export interface AccountPage {
  readonly email: string;
  readonly browsers: readonly SignedInBrowser[];
  /** How one signs in; `null` where that is settled elsewhere. */
  readonly signIn: SignInSettings | null;
  /** Epoch seconds. */
  readonly now: number;
  readonly news: AccountNews | null;
  /** For the form that signs out. */
  readonly logoutToken: string;
  /** For every other form. */
  readonly token: string;
}

export const accountPage: Page<AccountPage> = definePage('account', renderAccount);

function renderAccount(frame: Frame, page: AccountPage): Markup {
  const others = page.browsers.filter(({ isThisOne }) => !isThisOne);
  return layout(
    frame,
    frame.text('tabs.account'),
    html`${tabs(frame, 'account')}
<div class="head">
<h1>${frame.text('account.heading')}</h1>
<p class="fact"><bdi>${page.email}</bdi></p>
</div>
${happened(page.news === null ? null : frame.text(`account.news.${page.news}`))}
${page.signIn !== null && signInSections(frame, page.signIn, page)}
<section class="head">
<h2>${frame.text('account.sessions')}</h2>
<ul class="rows close">${page.browsers.map((browser, index) => row(frame, browser, index, page))}</ul>
${
  others.length > 1 &&
  html`<form class="once" method="post" action="/account/sessions">
${hidden({ token: page.token, session: 'others' })}
<button class="button">${frame.text('account.sign-out-others')}</button>
</form>`
}
</section>
<section class="beside">
<h2>${frame.text('account.remove')}</h2>
<a class="button" href="/account/remove" aria-label="${frame.text('account.remove')}">${frame.text('remove.submit')}</a>
</section>`,
  );
}

function signInSections(
  frame: Frame,
  { passkeys, recoveryCodes }: SignInSettings,
  page: AccountPage,
): Markup {
  return html`<section class="beside">
<h2>${frame.text('account.password')}</h2>
<a class="button" href="/account/password" aria-label="${frame.text('password.change')}">${frame.text('password.submit')}</a>
</section>
${
  passkeys !== null &&
  html`<section class="head">
<h2>${frame.text('account.passkeys')}</h2>
${passkeyList(frame, passkeys, page.token, page.now)}
</section>`
}
<section class="head">
<h2>${frame.text('account.codes')}</h2>
${codesSection(frame, recoveryCodes, page.token)}
</section>`;
}

/** Whether another one reads the same as far as names, addresses and minutes go: a person has to see which is which. */
function hasTwin(one: SignedInBrowser, all: readonly SignedInBrowser[]): boolean {
  const words = ({ name, address, since }: SignedInBrowser) =>
    JSON.stringify([name, address, Math.floor(since / 60)]);
  return all.some((other) => other.id !== one.id && words(other) === words(one));
}

function row(frame: Frame, browser: SignedInBrowser, index: number, page: AccountPage): Markup {
  const { isThisOne, address } = browser;
  const name = browserInWords(frame, browser.name);
  const time = moment(frame, browser.since, hasTwin(browser, page.browsers));
  const about = `browser-${index}`;
  return html`<li class="beside">
<div>
<p>${name}${isThisOne && html` <em class="new">${frame.text('account.this')}</em>`}</p>
<p class="fact" id="${about}">${frame.say('account.since', { time })} ${
    address !== null && frame.say('account.from', { address: html`<code>${address}</code>` })
  }</p>
</div>
${
  isThisOne
    ? html`<form method="post" action="/logout">${hidden({ token: page.logoutToken })}<button class="button">${frame.text('account.sign-out')}</button></form>`
    : html`<form class="once" method="post" action="/account/sessions">${hidden({ token: page.token, session: browser.id })}<button class="button" aria-label="${frame.text('account.sign-out-of', { browser: name })}" aria-describedby="${about}">${frame.text('account.sign-out')}</button></form>`
}
</li>`;
}

/** `Firefox on Linux` in the language of the page: both are names, the word between them is ours. */
export function browserInWords(frame: Frame, name: string | null): string {
  if (name === null) return frame.text('account.browser');
  const [browser = '', system] = name.split(' on ');
  return system === undefined ? name : frame.text('account.browser-on', { browser, system });
}
