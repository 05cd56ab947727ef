/** Views of the passkey pages: the list of passkeys, and the page that adds one. */
import { html } from 'hono/html';
import type { PasskeyRecord } from '../store/index.ts';
import { accountTabs } from '../ui/account-tabs.ts';
import { hiddenFields, type Layout, pageScript, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { type PasskeyForm, passkeyForm } from '../ui/passkey-form.ts';
import { timeAgo } from '../ui/times.ts';

export type ListedPasskey = Pick<PasskeyRecord, 'id' | 'name' | 'createdAt' | 'lastUsedAt'>;

/** @param token CSRF token of the remove forms */
export function passkeyList(
  layout: Layout,
  passkeys: readonly ListedPasskey[],
  token: string,
  now: number,
): Markup {
  return html`${
    passkeys.length === 0
      ? html`<p class="fact">${layout.text('passkey.what')}</p>`
      : html`<ul class="rows close">${passkeys.map((passkey) => row(layout, passkey, token, now))}</ul>`
  }
<a class="button${passkeys.length === 0 && ' main'}" href="/account/passkeys/add">${layout.text('passkey.add')}</a>`;
}

function row(
  layout: Layout,
  { id, name, createdAt, lastUsedAt }: ListedPasskey,
  token: string,
  now: number,
): Markup {
  return html`<li class="beside">
<div>
<p><bdi>${name}</bdi></p>
<p class="fact">${layout.say('passkey.added', { time: timeAgo(layout, createdAt, now) })}, ${lastUsedAt === null ? layout.text('passkey.unused') : layout.say('passkey.used', { time: timeAgo(layout, lastUsedAt, now) })}</p>
</div>
<form class="once" method="post" action="/account/passkeys/remove">${hiddenFields({ token, passkey: id })}<button class="button" aria-label="${layout.text('passkey.remove-one', { passkey: name })}">${layout.text('passkey.remove')}</button></form>
</li>`;
}

export interface AddPasskeyPage {
  readonly options: PasskeyForm['options'];
  readonly token: string;
  /** That the user confirmed the change. */
  readonly proof: string;
  /** Default name. */
  readonly suggestion: string;
  readonly error: string | null;
}

export function addPasskeyPage(layout: Layout, page: AddPasskeyPage): Markup {
  const name = html`<div class="field"><label for="name">${layout.text('passkey.name')}</label>
<input id="name" name="name" type="text" autocomplete="off" maxlength="50" value="${page.suggestion}"></div>`;
  return renderPage(
    layout,
    layout.text('passkey.add'),
    html`${accountTabs(layout, 'account')}
<div class="head">
<h1>${layout.text('passkey.add')}</h1>
<p>${layout.text('passkey.where')}</p>
</div>
${page.error !== null && html`<p class="wrong" role="alert">${page.error}</p>`}
<p class="note" data-without-passkeys>${layout.text('passkey.unknown')}</p>
${passkeyForm(layout, {
  kind: 'create',
  action: '/account/passkeys/add',
  options: page.options,
  fields: { token: page.token, proof: page.proof },
  label: layout.text('passkey.continue'),
  content: name,
  main: true,
})}
<a class="button" href="/account">${layout.text('passkey.cancel')}</a>
${pageScript(layout)}`,
  );
}
