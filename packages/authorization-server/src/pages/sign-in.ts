/** The sign-in page: e-mail and password, a passkey, or a third party; and why the person is here. */
import { html } from 'hono/html';
import { definePage, type Page } from './define-page.ts';
import { type Frame, field, hidden, layout } from './layout.ts';
import type { Markup } from './markup.ts';
import { passkeyForm, passkeyScript } from './passkeys.ts';
import type { HomePage } from './tabs.ts';

/** A third party by which one can sign in. */
interface SignInProvider {
  /** Its form goes to `/login/<id>`. */
  readonly id: string;
  /** What people call it. */
  readonly name: string;
}

/** `once-more`: they are signed in, but not since a moment ago, and want to change what needs that. */
export type SignInPurpose = { readonly appName: string } | { readonly to: HomePage | 'once-more' };

export interface SignInPage {
  /** What the person signs in for: the app that they come from, or a page of their own account. */
  readonly purpose: SignInPurpose;
  /** What the form carries so that the errand is found again. */
  readonly fields: Readonly<Record<string, string>>;
  readonly token: string;
  /** What was typed before. */
  readonly email: string;
  /** What was wrong with it, in words. */
  readonly wrong: string | null;
  /** What went wrong otherwise. */
  readonly trouble: string | null;
  /** Whether one can sign in with a password or a passkey of this server. */
  readonly isLocal: boolean;
  /** For the browser; `null` where there are no passkeys. */
  readonly passkeyOptions: Readonly<Record<string, unknown>> | null;
  /** Stand below the form, or in its place. */
  readonly providers: readonly SignInProvider[];
}

export const signInPage: Page<SignInPage> = definePage('sign-in', renderSignIn);

function renderSignIn(frame: Frame, page: SignInPage): Markup {
  const failed = page.wrong !== null || page.trouble !== null;
  return layout(
    frame,
    frame.text(failed ? 'sign-in.failed-title' : 'sign-in.title'),
    html`<div class="head">
<h1>${frame.text('sign-in.title')}</h1>
<p>${purpose(frame, page.purpose)}</p>
</div>
${page.trouble !== null && html`<p class="wrong" role="alert">${page.trouble}</p>`}
${page.isLocal && local(frame, page)}
${page.isLocal && page.providers.length > 0 && html`<p class="or fact">${frame.text('sign-in.or')}</p>`}
${page.providers.length > 0 && providers(frame, page)}
${page.isLocal && page.passkeyOptions !== null && passkeyScript(frame)}`,
    `/login?${new URLSearchParams(page.fields)}`,
  );
}

function purpose(frame: Frame, about: SignInPurpose): Markup | string {
  if ('appName' in about) {
    return frame.say('sign-in.for-app', { app: html`<strong><bdi>${about.appName}</bdi></strong>` });
  }
  return frame.text(about.to === 'once-more' ? 'sign-in.once-more' : `sign-in.for-${about.to}`);
}

function local(frame: Frame, page: SignInPage): Markup {
  return html`<div class="ways">
<form class="stack once" method="post" action="/login">
${hidden({ ...page.fields, token: page.token })}
<div class="fields">
${field({
  name: 'email',
  type: 'email',
  label: frame.text('field.email'),
  autocomplete: page.passkeyOptions === null ? 'username' : 'username webauthn',
  value: page.email,
  focus: page.email === '',
})}
${field({
  name: 'password',
  type: 'password',
  label: frame.text('field.password'),
  autocomplete: 'current-password',
  wrong: page.wrong,
  focus: page.email !== '',
})}
</div>
<button class="button main">${frame.text('sign-in.submit')}</button>
</form>
${page.passkeyOptions !== null && passkeyForm(frame, { kind: 'get', action: '/login/passkey', options: page.passkeyOptions, fields: { ...page.fields, token: page.token }, label: frame.text('passkey.sign-in') })}
</div>`;
}

/** One form with a button for each: every third party is told by an address of ours, where its way begins. */
function providers(frame: Frame, { providers: all, isLocal, fields, token }: SignInPage): Markup {
  const [first] = all;
  const pathOf = ({ id }: SignInProvider) => `/login/${encodeURIComponent(id)}`;
  return html`<form class="providers once" method="post" action="${first === undefined ? '/login' : pathOf(first)}">
${hidden({ ...fields, token })}
${all.map(
  (provider) =>
    html`<button class="button provider${!isLocal && all.length === 1 && ' main'}" formaction="${pathOf(provider)}"><span class="initial" aria-hidden="true">${[...provider.name][0] ?? ''}</span><span>${frame.say('sign-in.continue-with', { provider: html`<bdi>${provider.name}</bdi>` })}</span></button>`,
)}
</form>`;
}
