/** The page about how and where one is signed in. */
import { html } from 'hono/html';
import { type Frame, hidden, layout, type Markup } from './layout.ts';
import { type ListedPasskey, passkeyList } from './passkeys.ts';
import { happened, tabs } from './tabs.ts';
import { ago } from './times.ts';

/** A browser in which somebody is signed in. */
export interface SignedInBrowser {
  /** What a form names it by. */
  readonly id: string;
  readonly name: string | null;
  readonly address: string | null;
  /** Epoch seconds. */
  readonly since: number;
  readonly isThisOne: boolean;
}

/** What has just happened, by the name that an address may carry. */
export const accountNews = {
  'signed-out': 'Signed out there.',
  'passkey-added': 'The passkey was added.',
  'passkey-removed': 'The passkey was removed. You can delete it on your device too.',
  reset: 'This is how you sign in from now on. You are signed out everywhere else.',
} as const;

export type AccountNews = keyof typeof accountNews;

export interface AccountPage {
  readonly email: string;
  readonly browsers: readonly SignedInBrowser[];
  /** `null` where there are none. */
  readonly passkeys: readonly ListedPasskey[] | null;
  /** Epoch seconds. */
  readonly now: number;
  readonly news: AccountNews | null;
  /** For the form that signs out. */
  readonly logoutToken: string;
  /** For every other form. */
  readonly token: string;
}

export function accountPage(frame: Frame, page: AccountPage): Markup {
  const others = page.browsers.filter(({ isThisOne }) => !isThisOne);
  return layout(
    frame,
    'Account',
    html`${tabs('account')}
<div class="head">
<h1>Your account</h1>
<p class="fact"><bdi>${page.email}</bdi></p>
</div>
${happened(page.news === null ? null : accountNews[page.news])}
${
  page.passkeys !== null &&
  html`<section class="head">
<h2>Passkeys</h2>
${passkeyList(page.passkeys, page.token, page.now)}
</section>`
}
<section class="head">
<h2>Where you are signed in</h2>
<ul class="rows close">${page.browsers.map((browser) => row(browser, page))}</ul>
${
  others.length > 1 &&
  html`<form class="once" method="post" action="/account/sessions">
${hidden({ token: page.token, session: 'others' })}
<button class="button">Sign out everywhere else</button>
</form>`
}
</section>`,
  );
}

function row(browser: SignedInBrowser, page: AccountPage): Markup {
  const name = browser.name ?? 'A browser';
  return html`<li class="beside">
<div>
<p>${name}</p>
<p class="fact">${browser.isThisOne ? 'this browser, ' : ''}since ${ago(browser.since, page.now)}${browser.address !== null && html` from <code>${browser.address}</code>`}</p>
</div>
${
  browser.isThisOne
    ? html`<form method="post" action="/logout">${hidden({ token: page.logoutToken })}<button class="button">Sign out</button></form>`
    : html`<form class="once" method="post" action="/account/sessions">${hidden({ token: page.token, session: browser.id })}<button class="button" aria-label="Sign out ${name}">Sign out</button></form>`
}
</li>`;
}
