/** The pages of a server's first start: making the first account, and what comes then. */
import { html } from 'hono/html';
import { definePage, type Page } from './define-page.ts';
import { type Frame, field, hidden, layout } from './layout.ts';
import type { Markup } from './markup.ts';
import { passwordFields } from './password-fields.ts';
import { homePaths } from './tabs.ts';
import type { TextName } from './texts/texts.ts';

export interface SetupPage {
  /** The token of the link. */
  readonly token: string;
  readonly email: string;
  readonly wrong: SetupIssues;
}

/** What is wrong with each field. */
export interface SetupIssues {
  readonly email: TextName | null;
  readonly password: TextName | null;
  readonly passwordAgain: TextName | null;
}

export const setupPage: Page<SetupPage> = definePage('setup', renderSetup);

function renderSetup(frame: Frame, page: SetupPage): Markup {
  const { wrong } = page;
  const failed = Object.values(wrong).some((issue) => issue !== null);
  return layout(
    frame,
    frame.text(failed ? 'setup.failed-title' : 'setup.title'),
    html`<div class="head">
<h1>${frame.text('setup.title')}</h1>
<p>${frame.text('setup.why')}</p>
</div>
<form class="stack once" method="post" action="/setup">
${hidden({ token: page.token })}
<div class="fields">
${field({
  name: 'email',
  type: 'email',
  label: frame.text('field.email'),
  autocomplete: 'username',
  value: page.email,
  wrong: wrong.email === null ? null : frame.text(wrong.email),
  focus: !failed || wrong.email !== null,
})}
${passwordFields(frame, {
  wrong,
  first: failed && wrong.email === null,
})}
</div>
<button class="button main">${frame.text('setup.submit')}</button>
</form>`,
    `/setup?${new URLSearchParams({ token: page.token })}`,
  );
}

export interface ReadyPage {
  readonly email: string;
  /** Whether this person can have passkeys here. */
  readonly offersPasskey: boolean;
  /** For the form that signs out. */
  readonly token: string;
}

export const readyPage: Page<ReadyPage> = definePage('ready', renderReady);

function renderReady(frame: Frame, page: ReadyPage): Markup {
  return layout(
    frame,
    frame.text('ready.title'),
    html`<div class="head">
<h1>${frame.text('ready.heading')}</h1>
<p>${frame.say('ready.next', { connections: html`<a href="${homePaths.connections}">${frame.text('tabs.connections')}</a>` })}</p>
${page.offersPasskey && html`<p>${frame.say('ready.passkey', { account: html`<a href="${homePaths.account}">${frame.text('tabs.account')}</a>` })}</p>`}
</div>
<form class="fact" method="post" action="/logout">
${hidden({ token: page.token })}
${frame.say('consent.signed-in', { email: html`<bdi>${page.email}</bdi>` })} · <button class="link">${frame.text('sign-out')}</button>
</form>`,
  );
}
