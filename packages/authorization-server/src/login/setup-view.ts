/** The setup page, which creates the first account, and the page shown when an account is ready. */
import { html } from 'hono/html';
import { accountPaths } from '../ui/account-tabs.ts';
import { addServerSections, type ConnectableServer } from '../ui/add-server.ts';
import { formField, hiddenFields, type Layout, pageScript, renderPage } from '../ui/layout.ts';
import { tick } from '../ui/marks.ts';
import type { Markup } from '../ui/markup.ts';
import type { TextName } from '../ui/texts/texts.ts';
import { newPasswordFields, type PasswordErrors } from '../users/new-password.ts';

export interface SetupPage {
  /** Token of the one-time link. */
  readonly token: string;
  readonly email: string;
  /** `null`: none. */
  readonly errors: SetupErrors | null;
}

export interface SetupErrors {
  readonly email: TextName | null;
  readonly password: PasswordErrors | null;
}

export function setupPage(layout: Layout, page: SetupPage): Markup {
  const failed = page.errors !== null;
  const { email: wrongEmail, password } = page.errors ?? { email: null, password: null };
  return renderPage(
    layout,
    layout.text(failed ? 'setup.failed-title' : 'setup.title'),
    html`<div class="head">
<h1 class="display">${layout.text('setup.title')}</h1>
<p>${layout.text('setup.why')}</p>
</div>
<form class="stack once" method="post" action="/setup">
${hiddenFields({ token: page.token })}
<div class="fields">
${formField({
  name: 'email',
  type: 'email',
  label: layout.text('field.email'),
  autocomplete: 'username',
  value: page.email,
  error: wrongEmail === null ? null : layout.text(wrongEmail),
  focus: !failed || wrongEmail !== null,
})}
${newPasswordFields(layout, { errors: password, first: failed && wrongEmail === null })}
</div>
<button class="button main">${layout.text('setup.submit')}</button>
</form>
${pageScript(layout)}`,
    `/setup?${new URLSearchParams({ token: page.token })}`,
  );
}

export interface ReadyPage {
  readonly email: string;
  /** Whether this user can add a passkey. */
  readonly offersPasskey: boolean;
  readonly servers: readonly ConnectableServer[];
  /** CSRF token of the logout form. */
  readonly token: string;
}

export function readyPage(layout: Layout, page: ReadyPage): Markup {
  return renderPage(
    layout,
    layout.text('ready.title'),
    html`<div class="head">
${tick}
<h1 class="display">${layout.text('ready.heading')}</h1>
<p>${layout.say('ready.next', { connections: html`<a href="${accountPaths.connections}">${layout.text('tabs.connections')}</a>` })}</p>
${page.offersPasskey && html`<p>${layout.say('ready.passkey', { account: html`<a href="${accountPaths.account}">${layout.text('tabs.account')}</a>` })}</p>`}
</div>
${addServerSections(layout, page.servers)}
<form class="fact" method="post" action="/logout">
${hiddenFields({ token: page.token })}
${layout.say('consent.signed-in', { email: html`<bdi>${page.email}</bdi>` })} · <button class="link">${layout.text('sign-out')}</button>
</form>
${pageScript(layout)}`,
    undefined,
    'wide',
  );
}
