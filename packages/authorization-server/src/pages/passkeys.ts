/** Forms that a passkey answers, the page that adds one, and the list of them. */
import { html } from 'hono/html';
import { definePage, type Page } from './define-page.ts';
import { type Frame, hidden, layout } from './layout.ts';
import type { Markup } from './markup.ts';
import { tabs } from './tabs.ts';
import { ago } from './times.ts';

export interface PasskeyForm {
  /** Whether a passkey is asked for, or made. */
  readonly kind: 'get' | 'create';
  readonly action: string;
  /** For the browser, as JSON. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly fields: Readonly<Record<string, string | null>>;
  readonly label: string;
  /** What else the form asks. */
  readonly content?: Markup;
  readonly main?: boolean;
}

/** Hidden until the script has found that the browser knows passkeys. */
export function passkeyForm(
  frame: Frame,
  { kind, action, options, fields, label, content, main = false }: PasskeyForm,
): Markup {
  const trouble = frame.text(kind === 'get' ? 'passkey.none-used' : 'passkey.none-made');
  return html`<form class="fields" method="post" action="${action}" data-passkey="${kind}" data-options="${JSON.stringify(options)}" hidden>
${hidden({ ...fields, credential: '' })}
${content ?? ''}
<p class="wrong" role="alert" data-trouble hidden>${trouble}</p>
<button class="button${main && ' main'}">${label}</button>
</form>`;
}

/** Stands on every page with such a form; the page has to be sent with `script`. */
export function passkeyScript({ script }: Frame): Markup {
  return html`<script src="${script}" defer></script>`;
}

export interface ListedPasskey {
  readonly id: string;
  readonly name: string;
  /** Epoch seconds. */
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

/** @param token of the form that removes one */
export function passkeyList(
  frame: Frame,
  passkeys: readonly ListedPasskey[],
  token: string,
  now: number,
): Markup {
  return html`${
    passkeys.length === 0
      ? html`<p class="fact">${frame.text('passkey.what')}</p>`
      : html`<ul class="rows close">${passkeys.map((passkey) => row(frame, passkey, token, now))}</ul>`
  }
<a class="button" href="/account/passkeys/add">${frame.text('passkey.add')}</a>`;
}

function row(
  frame: Frame,
  { id, name, createdAt, lastUsedAt }: ListedPasskey,
  token: string,
  now: number,
): Markup {
  return html`<li class="beside">
<div>
<p><bdi>${name}</bdi></p>
<p class="fact">${frame.say('passkey.added', { time: ago(frame, createdAt, now) })}, ${lastUsedAt === null ? frame.text('passkey.unused') : frame.say('passkey.used', { time: ago(frame, lastUsedAt, now) })}</p>
</div>
<form class="once" method="post" action="/account/passkeys/remove">${hidden({ token, passkey: id })}<button class="button" aria-label="${frame.text('passkey.remove-one', { passkey: name })}">${frame.text('passkey.remove')}</button></form>
</li>`;
}

export interface AddPasskeyPage {
  readonly options: PasskeyForm['options'];
  readonly token: string;
  /** What the passkey is called unless its owner says otherwise. */
  readonly suggestion: string;
  readonly wrong: string | null;
}

export const addPasskeyPage: Page<AddPasskeyPage> = definePage('add-passkey', renderAddPasskey);

function renderAddPasskey(frame: Frame, page: AddPasskeyPage): Markup {
  const name = html`<div class="field"><label for="name">${frame.text('passkey.name')}</label>
<input id="name" name="name" type="text" autocomplete="off" maxlength="50" value="${page.suggestion}"></div>`;
  return layout(
    frame,
    frame.text('passkey.add'),
    html`${tabs(frame, 'account')}
<div class="head">
<h1>${frame.text('passkey.add')}</h1>
<p>${frame.text('passkey.where')}</p>
</div>
${page.wrong !== null && html`<p class="wrong" role="alert">${page.wrong}</p>`}
<p class="note" data-without-passkeys>${frame.text('passkey.unknown')}</p>
${passkeyForm(frame, {
  kind: 'create',
  action: '/account/passkeys/add',
  options: page.options,
  fields: { token: page.token },
  label: frame.text('passkey.continue'),
  content: name,
  main: true,
})}
<a class="button" href="/account">${frame.text('passkey.cancel')}</a>
${passkeyScript(frame)}`,
  );
}
