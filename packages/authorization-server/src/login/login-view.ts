/** The login page: e-mail and password, passkey and identity providers, and what the user logs in for. */
import { html } from 'hono/html';
import type { AccountSection } from '../ui/account-tabs.ts';
import {
  formField,
  hiddenFields,
  type Layout,
  pageScript,
  renderPage,
  revealPasswords,
} from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { passkeyForm } from '../ui/passkey-form.ts';
import { providerMark } from '../ui/provider-logos.ts';

/** An identity provider on the login page. */
interface LoginProvider {
  /** Its form posts to `/login/<id>`. */
  readonly id: string;
  /** As users know it. */
  readonly name: string;
  /** A URL; its host selects the logo. */
  readonly issuer: string;
}

/** `once-more`: the user has a session but needs a recent login. */
export type LoginPurpose =
  | { readonly appName: string; readonly serverName: string }
  | { readonly to: AccountSection | 'once-more' };

export interface LoginPage {
  /** What the user logs in for. */
  readonly purpose: LoginPurpose;
  /** Hidden fields that identify the login target. */
  readonly fields: Readonly<Record<string, string>>;
  readonly token: string;
  /** Typed before. */
  readonly email: string;
  /** Shown at the password field. */
  readonly passwordError: string | null;
  /** Shown above the form. */
  readonly otherError: string | null;
  /** Whether there are local accounts. */
  readonly hasLocalLogin: boolean;
  /** `PublicKeyCredentialRequestOptionsJSON`; `null`: no passkeys. */
  readonly passkeyOptions: Readonly<Record<string, unknown>> | null;
  /** Below the form, or in its place. */
  readonly providers: readonly LoginProvider[];
}

export function loginPage(layout: Layout, page: LoginPage): Markup {
  const failed = page.passwordError !== null || page.otherError !== null;
  return renderPage(
    layout,
    layout.text(failed ? 'sign-in.failed-title' : 'sign-in.title'),
    html`<div class="head">
<h1>${layout.text('sign-in.title')}</h1>
<p>${describePurpose(layout, page.purpose)}</p>
</div>
${page.otherError !== null && html`<p class="wrong" role="alert">${page.otherError}</p>`}
${page.hasLocalLogin && localLoginForms(layout, page)}
${page.hasLocalLogin && page.providers.length > 0 && html`<p class="or fact">${layout.text('sign-in.or')}</p>`}
${page.providers.length > 0 && providerForm(layout, page)}
${'appName' in page.purpose && backToApp(layout, page, page.purpose.appName)}
${page.hasLocalLogin && pageScript(layout)}`,
    `/login?${new URLSearchParams(page.fields)}`,
  );
}

function describePurpose(layout: Layout, about: LoginPurpose): Markup | string {
  if ('appName' in about) {
    return layout.say('sign-in.for-app', { app: html`<strong><bdi>${about.appName}</bdi></strong>` });
  }
  return layout.text(about.to === 'once-more' ? 'sign-in.once-more' : `sign-in.for-${about.to}`);
}

/** Ends the request with `access_denied` for the app. */
function backToApp(layout: Layout, { fields, token }: LoginPage, app: string): Markup {
  return html`<form class="once" method="post" action="/login/cancel">
${hiddenFields({ ...fields, token })}
<button class="link fact">${layout.say('sign-in.back', { app: html`<bdi>${app}</bdi>` })}</button>
</form>`;
}

function localLoginForms(layout: Layout, page: LoginPage): Markup {
  return html`<div class="ways">
<form class="stack once" method="post" action="/login">
${hiddenFields({ ...page.fields, token: page.token })}
<div class="fields">
${formField({
  name: 'email',
  type: 'email',
  label: layout.text('field.email'),
  autocomplete: page.passkeyOptions === null ? 'username' : 'username webauthn',
  value: page.email,
  focus: page.email === '',
})}
${formField({
  name: 'password',
  type: 'password',
  label: layout.text('field.password'),
  autocomplete: 'current-password',
  error: page.passwordError,
  focus: page.email !== '',
})}
<p class="beside">${revealPasswords(layout)}<a class="fact" href="/login/forgotten?${new URLSearchParams(page.fields)}">${layout.text('sign-in.forgotten')}</a></p>
</div>
<button class="button main">${layout.text('sign-in.submit')}</button>
</form>
${page.passkeyOptions !== null && passkeyForm(layout, { kind: 'get', action: '/login/passkey', options: page.passkeyOptions, fields: { ...page.fields, token: page.token }, label: layout.text('passkey.sign-in') })}
</div>`;
}

/** One form with a button for each identity provider. */
function providerForm(
  layout: Layout,
  { providers: all, hasLocalLogin: isLocal, fields, token }: LoginPage,
): Markup {
  const [first] = all;
  const pathOf = ({ id }: LoginProvider) => `/login/${encodeURIComponent(id)}`;
  return html`<form class="providers once" method="post" action="${first === undefined ? '/login' : pathOf(first)}">
${hiddenFields({ ...fields, token })}
${all.map(
  (provider) =>
    html`<button class="button provider${!isLocal && all.length === 1 && ' main'}" formaction="${pathOf(provider)}">${providerMark(provider.name, provider.issuer)}<span>${layout.say('sign-in.continue-with', { provider: html`<bdi>${provider.name}</bdi>` })}</span></button>`,
)}
</form>`;
}

export interface ForgottenPasswordPage {
  /** The login page. */
  readonly restartPath: string;
}

/** Names who can help: this server sends no mail, and a reset link by an administrator is as powerful as a password. */
export function forgottenPasswordPage(layout: Layout, { restartPath }: ForgottenPasswordPage): Markup {
  const command = 'portcullis users reset';
  return renderPage(
    layout,
    layout.text('forgotten.heading'),
    html`<div class="head">
<h1>${layout.text('forgotten.heading')}</h1>
<p>${layout.text('forgotten.ask')}</p>
</div>
<p class="fact">${layout.say('forgotten.command', { command: html`<code>${command} ${layout.text('forgotten.address')}</code>` })}</p>
<a class="button" href="${restartPath}">${layout.text('forgotten.back')}</a>`,
    `/login/forgotten?${restartPath.split('?')[1] ?? ''}`,
  );
}
