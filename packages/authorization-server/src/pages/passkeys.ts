/** Forms that a passkey answers, the page that adds one, and the list of them. */
import { html } from 'hono/html';
import { SCRIPT_PATH } from './assets.ts';
import { type Frame, hidden, layout, type Markup } from './layout.ts';
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
export function passkeyForm({
  kind,
  action,
  options,
  fields,
  label,
  content,
  main = false,
}: PasskeyForm): Markup {
  const trouble =
    kind === 'get'
      ? 'No passkey was used. Try again, or sign in with your password.'
      : 'No passkey was made. Try again; this device may have one for you already.';
  return html`<form class="fields" method="post" action="${action}" data-passkey="${kind}" data-options="${JSON.stringify(options)}" hidden>
${hidden({ ...fields, credential: '' })}
${content ?? ''}
<p class="wrong" role="alert" data-trouble hidden>${trouble}</p>
<button class="button${main && ' main'}">${label}</button>
</form>`;
}

/** Stands on every page with such a form; the page has to be sent with `script`. */
export const passkeyScript: Markup = html`<script src="${SCRIPT_PATH}" defer></script>`;

export interface ListedPasskey {
  readonly id: string;
  readonly name: string;
  /** Epoch seconds. */
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

/** @param token of the form that removes one */
export function passkeyList(passkeys: readonly ListedPasskey[], token: string, now: number): Markup {
  return html`${
    passkeys.length === 0
      ? html`<p class="fact">With a passkey you sign in by your face, your finger or your device\u2019s code.</p>`
      : html`<ul class="rows close">${passkeys.map((passkey) => row(passkey, token, now))}</ul>`
  }
<a class="button" href="/account/passkeys/add">Add a passkey</a>`;
}

function row({ id, name, createdAt, lastUsedAt }: ListedPasskey, token: string, now: number): Markup {
  return html`<li class="beside">
<div>
<p><bdi>${name}</bdi></p>
<p class="fact">added ${ago(createdAt, now)}, ${lastUsedAt === null ? 'not used yet' : html`used ${ago(lastUsedAt, now)}`}</p>
</div>
<form class="once" method="post" action="/account/passkeys/remove">${hidden({ token, passkey: id })}<button class="button" aria-label="Remove ${name}">Remove</button></form>
</li>`;
}

export interface AddPasskeyPage {
  readonly options: PasskeyForm['options'];
  readonly token: string;
  /** What the passkey is called unless its owner says otherwise. */
  readonly suggestion: string;
  readonly wrong: string | null;
}

export function addPasskeyPage(frame: Frame, page: AddPasskeyPage): Markup {
  const name = html`<div class="field"><label for="name">Name of the passkey</label>
<input id="name" name="name" type="text" autocomplete="off" maxlength="50" value="${page.suggestion}"></div>`;
  return layout(
    frame,
    'Add a passkey',
    html`${tabs('account')}
<div class="head">
<h1>Add a passkey</h1>
<p>This device will keep it, or a phone or a security key near you. From then on you can sign in with it.</p>
</div>
${page.wrong !== null && html`<p class="wrong" role="alert">${page.wrong}</p>`}
<p class="note" data-without-passkeys>This browser has no passkeys for this page, or its JavaScript is switched off.</p>
${passkeyForm({
  kind: 'create',
  action: '/account/passkeys/add',
  options: page.options,
  fields: { token: page.token },
  label: 'Continue',
  content: name,
  main: true,
})}
<a class="button" href="/account">Cancel</a>
${passkeyScript}`,
  );
}
