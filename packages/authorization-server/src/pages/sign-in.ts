/** The sign-in page: e-mail and password or a passkey, and why the person is here. */
import { html } from 'hono/html';
import { definePage, type Page } from './define-page.ts';
import { type Frame, field, hidden, layout, type Markup } from './layout.ts';
import { passkeyForm, passkeyScript } from './passkeys.ts';

export interface SignInPage {
  /** The app that the person comes from; `null` when they come on their own account. */
  readonly appName: string | null;
  /** What the form carries so that the errand is found again. */
  readonly fields: Readonly<Record<string, string>>;
  readonly token: string;
  /** What was typed before. */
  readonly email: string;
  /** What was wrong with it, in words. */
  readonly wrong: string | null;
  /** What went wrong otherwise. */
  readonly trouble: string | null;
  /** For the browser; `null` where there are no passkeys. */
  readonly passkeyOptions: Readonly<Record<string, unknown>> | null;
}

export const signInPage: Page<SignInPage> = definePage('sign-in', renderSignIn);

function renderSignIn(frame: Frame, page: SignInPage): Markup {
  const failed = page.wrong !== null || page.trouble !== null;
  return layout(
    frame,
    frame.text(failed ? 'sign-in.failed-title' : 'sign-in.title'),
    html`<div class="head">
<h1>${frame.text('sign-in.title')}</h1>
<p>${page.appName === null ? frame.text('sign-in.for-account') : frame.say('sign-in.for-app', { app: html`<strong><bdi>${page.appName}</bdi></strong>` })}</p>
</div>
${page.trouble !== null && html`<p class="wrong" role="alert">${page.trouble}</p>`}
<div class="ways">
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
</div>
${page.passkeyOptions !== null && passkeyScript(frame)}`,
  );
}
