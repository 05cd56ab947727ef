/** The sign-in page: e-mail and password or a passkey, and why the person is here. */
import { html } from 'hono/html';
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

export function signInPage(frame: Frame, page: SignInPage): Markup {
  const failed = page.wrong !== null || page.trouble !== null;
  return layout(
    frame,
    failed ? 'Not signed in' : 'Sign in',
    html`<div class="head">
<h1>Sign in</h1>
<p>${page.appName === null ? 'to see what has access to your account' : html`to continue to <strong><bdi>${page.appName}</bdi></strong>`}</p>
</div>
${page.trouble !== null && html`<p class="wrong" role="alert">${page.trouble}</p>`}
<div class="ways">
<form class="stack once" method="post" action="/login">
${hidden({ ...page.fields, token: page.token })}
<div class="fields">
${field({
  name: 'email',
  type: 'email',
  label: 'Email',
  autocomplete: page.passkeyOptions === null ? 'username' : 'username webauthn',
  value: page.email,
  focus: page.email === '',
})}
${field({
  name: 'password',
  type: 'password',
  label: 'Password',
  autocomplete: 'current-password',
  wrong: page.wrong,
  focus: page.email !== '',
})}
</div>
<button class="button main">Sign in</button>
</form>
${page.passkeyOptions !== null && passkeyForm({ kind: 'get', action: '/login/passkey', options: page.passkeyOptions, fields: { ...page.fields, token: page.token }, label: 'Sign in with a passkey' })}
</div>
${page.passkeyOptions !== null && passkeyScript}`,
  );
}
