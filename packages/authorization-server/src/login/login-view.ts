/** The login page: e-mail and password, passkey and identity providers, and what the user logs in for. */
import { html } from 'hono/html';
import { type AccountSection, statusMessage } from '../ui/account-tabs.ts';
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
import type { LikelyMethod } from './likely-method.ts';

/** An identity provider on the login page. */
interface LoginProvider {
  /** Its form posts to `/login/<id>`. */
  readonly id: string;
  /** As users know it. */
  readonly name: string;
  /** A URL; its host selects the logo. */
  readonly issuer: string;
}

/** The user has a session but needs a recent login, or one with two factors for the console. */
export type LoginPurpose =
  | { readonly appName: string; readonly serverName: string }
  | { readonly to: AccountSection | 'once-more' | 'two-factors' };

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
  /** Whether a new password has just been saved, for an account with a second factor. */
  readonly isReset: boolean;
  /**
   * Local accounts: none; unlikely, because none has been created and there are identity providers; impossible, because there is no
   * account at all and no other way; or possible.
   */
  readonly localLogin: 'none' | 'unlikely' | 'impossible' | 'possible';
  /** `PublicKeyCredentialRequestOptionsJSON`; `null`: no passkeys. */
  readonly passkeyOptions: Readonly<Record<string, unknown>> | null;
  readonly providers: readonly LoginProvider[];
  /** Whether a sign-in link can be mailed. */
  readonly signInLinks: boolean;
  /** What the user of the address likely signs in with. */
  readonly likely: LikelyMethod;
  /** The page without the address. */
  readonly restartPath: string;
}

/**
 * Identity providers come first. Where there are local accounts beside them, the page asks for the address, and then shows what its
 * user likely signs in with; with local accounts alone, a second page would only cost a click.
 */
export function loginPage(layout: Layout, page: LoginPage): Markup {
  const { localLogin, providers, email, otherError } = page;
  const failed = page.passwordError !== null || otherError !== null;
  const asksFirst = providers.length > 0 && email === '';
  const isLocalLast = asksFirst || isProvider(page.likely);
  const local =
    localLogin === 'impossible'
      ? html`<p>${layout.text('sign-in.no-account')}</p>`
      : localLogin !== 'none' && localLoginForms(layout, page, asksFirst);
  const or =
    local !== false && providers.length > 0 && html`<p class="or fact">${layout.text('sign-in.or')}</p>`;
  const away = providers.length > 0 && providerForm(layout, page);
  return renderPage(
    layout,
    layout.text(failed ? 'sign-in.failed-title' : 'sign-in.title'),
    html`<div class="head">
<h1>${layout.text('sign-in.title')}</h1>
<p>${describePurpose(layout, page.purpose)}</p>
</div>
${statusMessage(page.isReset ? layout.text('sign-in.reset') : null)}
${otherError !== null && html`<p class="wrong" role="alert">${otherError}</p>`}
${
  asksFirst && localLogin === 'unlikely'
    ? html`${away}<details><summary class="link">${layout.text('sign-in.with-email')}</summary>${local}</details>`
    : isLocalLast
      ? html`${away}${or}${local}`
      : html`${local}${or}${away}`
}
${'appName' in page.purpose && backToApp(layout, page, page.purpose.appName)}
${local !== false && pageScript(layout)}`,
    `/login?${new URLSearchParams(page.fields)}`,
  );
}

function isProvider(likely: LikelyMethod): likely is Exclude<LikelyMethod, string> {
  return typeof likely === 'object';
}

/** What the user logs in for, as a sentence. */
export function describePurpose(layout: Layout, about: LoginPurpose): Markup | string {
  if ('appName' in about) {
    return layout.say('sign-in.for-app', { app: html`<strong><bdi>${about.appName}</bdi></strong>` });
  }
  const { to } = about;
  return layout.text(to === 'once-more' || to === 'two-factors' ? `sign-in.${to}` : `sign-in.for-${to}`);
}

/** Ends the request with `access_denied` for the app. */
function backToApp(layout: Layout, { fields, token }: LoginPage, app: string): Markup {
  return html`<form class="once" method="post" action="/login/cancel">
${hiddenFields({ ...fields, token })}
<button class="link fact">${layout.say('sign-in.back', { app: html`<bdi>${app}</bdi>` })}</button>
</form>`;
}

/** @param asksFirst only for the address */
function localLoginForms(layout: Layout, page: LoginPage, asksFirst: boolean): Markup {
  const { likely, passkeyOptions } = page;
  const isMain = likely === 'password' && !(asksFirst && page.localLogin === 'unlikely');
  const form = html`<form class="stack once" method="post" action="/login">
${hiddenFields({ ...page.fields, token: page.token })}
<div class="fields">
${asksFirst || page.providers.length === 0 ? emailField(layout, page) : knownAddress(layout, page)}
${!asksFirst && passwordField(layout, page)}
</div>
<button class="button${isMain && ' main'}">${layout.text(asksFirst ? 'passkey.continue' : 'sign-in.submit')}</button>
</form>`;
  const passkey =
    passkeyOptions !== null &&
    passkeyForm(layout, {
      kind: 'get',
      action: '/login/passkey',
      options: passkeyOptions,
      fields: { ...page.fields, token: page.token },
      label: layout.text('passkey.sign-in'),
      main: likely === 'passkey',
    });
  return html`<div class="ways">${likely === 'passkey' ? html`${passkey}${form}` : html`${form}${passkey}`}</div>`;
}

function emailField(layout: Layout, { email, passkeyOptions, localLogin }: LoginPage): Markup {
  return formField({
    name: 'email',
    type: 'email',
    label: layout.text('field.email'),
    autocomplete: passkeyOptions === null ? 'username' : 'username webauthn',
    value: email,
    focus: email === '' && localLogin === 'possible',
  });
}

/** The address that was typed before: password managers read the field, and the user can change it. */
function knownAddress(layout: Layout, { email, restartPath }: LoginPage): Markup {
  return html`<p class="known"><bdi>${email}</bdi> <a href="${restartPath}">${layout.text('sign-in.change-address')}</a></p>
<input type="email" name="email" value="${email}" autocomplete="username" readonly hidden>`;
}

function passwordField(layout: Layout, page: LoginPage): Markup {
  return html`${formField({
    name: 'password',
    type: 'password',
    label: layout.text('field.password'),
    autocomplete: 'current-password',
    error: page.passwordError,
    focus: page.email !== '' && page.likely === 'password',
  })}
<p class="beside">${revealPasswords(layout)}<a class="fact" href="/login/forgotten?${new URLSearchParams(page.fields)}">${layout.text('sign-in.forgotten')}</a></p>
${page.signInLinks && html`<p class="beside"><a class="fact" href="/login/link?${new URLSearchParams(page.fields)}">${layout.text('sign-in.by-link')}</a></p>`}`;
}

/** One form with a button for each identity provider: that of the address first. */
function providerForm(layout: Layout, { providers, localLogin, likely, fields, token }: LoginPage): Markup {
  const isLikely = ({ id }: LoginProvider) => isProvider(likely) && likely.provider === id;
  const all = providers.toSorted((one, other) => Number(isLikely(other)) - Number(isLikely(one)));
  const [first] = all;
  const isOnly = all.length === 1 && localLogin !== 'possible';
  const pathOf = ({ id }: LoginProvider) => `/login/${encodeURIComponent(id)}`;
  return html`<form class="providers once" method="post" action="${first === undefined ? '/login' : pathOf(first)}">
${hiddenFields({ ...fields, token })}
${all.map(
  (provider) =>
    html`<button class="button provider${(isOnly || isLikely(provider)) && ' main'}" formaction="${pathOf(provider)}">${providerMark(provider.name, provider.issuer)}<span>${layout.say('sign-in.continue-with', { provider: html`<bdi>${provider.name}</bdi>` })}</span></button>`,
)}
</form>`;
}

/**
 * Names who can help: this server sends no mail, and a reset link by an administrator is as powerful as a password.
 * @param restartPath of the login page
 */
export function forgottenPasswordPage(layout: Layout, restartPath: string): Markup {
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
