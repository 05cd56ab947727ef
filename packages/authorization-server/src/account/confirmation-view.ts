/** View of the page that asks for a credential before a change to the account. */
import { html } from 'hono/html';
import { mfaCodeField } from '../login/mfa-view.ts';
import { accountPaths, accountTabs } from '../ui/account-tabs.ts';
import { formField, hiddenFields, type Layout, pageScript, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { type PasskeyForm, passkeyForm } from '../ui/passkey-form.ts';
import type { TextName } from '../ui/texts/texts.ts';

/** A change that needs a credential. */
export interface ConfirmedChange {
  /** Path of its form. */
  readonly action: string;
  readonly heading: TextName;
  /** What it is about, such as the name of a passkey. */
  readonly subject?: string;
  readonly why?: TextName;
  readonly button: TextName;
  readonly isDangerous?: boolean;
  /** Hidden fields of its form. */
  readonly fields?: Readonly<Record<string, string>>;
}

export interface ConfirmationPage {
  readonly change: ConfirmedChange;
  readonly token: string;
  readonly email: string;
  /** Whether the user has an authenticator app. */
  readonly asksForCode: boolean;
  /** Whether the password suffices beside what the session began with. */
  readonly asksForPassword: boolean;
  /** `null`: the user has no passkey. */
  readonly passkeyOptions: PasskeyForm['options'] | null;
  readonly error: { readonly field: 'code' | 'password' | 'credential'; readonly message: string } | null;
}

export function confirmationPage(layout: Layout, page: ConfirmationPage): Markup {
  const { change, error, asksForCode, asksForPassword, passkeyOptions } = page;
  const needsPasskey = !asksForCode && !asksForPassword;
  const errorOf = (field: string) => (error?.field === field ? error.message : null);
  const codeField =
    asksForCode && mfaCodeField(layout.text('code.shown'), errorOf('code'), layout.text('code.recovery'));
  const fields = { token: page.token, ...change.fields };
  return renderPage(
    layout,
    layout.text(change.heading),
    html`${accountTabs(layout, 'account')}
<div class="head">
<h1>${layout.text(change.heading)}</h1>
${change.subject !== undefined && html`<p class="fact"><bdi>${change.subject}</bdi></p>`}
${change.why !== undefined && html`<p>${layout.text(change.why)}</p>`}
<p>${layout.text('confirm.why')}</p>
</div>
${errorOf('credential') !== null && html`<p class="wrong" role="alert">${errorOf('credential')}</p>`}
${needsPasskey && html`<p class="note" data-without-passkeys>${layout.text('passkey.unknown')}</p>`}
<div class="ways">
${codeField !== false && confirmationForm(layout, page, fields, codeField, true)}
${asksForPassword && confirmationForm(layout, page, fields, passwordField(layout, page, errorOf('password')), !asksForCode)}
${
  passkeyOptions !== null &&
  html`${passkeyForm(layout, { kind: 'get', action: change.action, options: passkeyOptions, fields, label: layout.text(needsPasskey ? 'confirm.passkey' : 'passkey.instead'), main: needsPasskey })}
${pageScript(layout)}`
}
</div>
${needsPasskey && html`<p class="fact"><a href="/login/forgotten?to=account">${layout.text('confirm.passkey-lost')}</a></p>`}
<a class="button" href="${accountPaths.account}">${layout.text('passkey.cancel')}</a>`,
    accountPaths.account,
  );
}

function passwordField(
  layout: Layout,
  { email, asksForCode }: ConfirmationPage,
  error: string | null,
): Markup {
  return html`<input hidden type="email" autocomplete="username" value="${email}" readonly>
${formField({
  name: 'password',
  type: 'password',
  label: layout.text(asksForCode ? 'confirm.password-instead' : 'password.current'),
  autocomplete: 'current-password',
  error,
  focus: !asksForCode || error !== null,
})}`;
}

/** One form for each kind of credential, because each field is required in its own. */
function confirmationForm(
  layout: Layout,
  { change }: ConfirmationPage,
  fields: Readonly<Record<string, string>>,
  content: Markup,
  main: boolean,
): Markup {
  const kind = change.isDangerous === true ? ' danger' : ' main';
  return html`<form class="fields once" method="post" action="${change.action}">
${hiddenFields(fields)}
${content}
<button class="button${main && kind}">${layout.text(change.button)}</button>
</form>`;
}
