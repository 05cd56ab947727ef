/** The page behind an account link: choose a password or a passkey. */
import { html } from 'hono/html';
import { hiddenFields, type Layout, pageScript, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { passkeyForm } from '../ui/passkey-form.ts';
import { newPasswordFields, type PasswordErrors } from '../users/new-password.ts';

export interface AccountLinkPage {
  readonly purpose: 'invitation' | 'reset';
  /** Token of the one-time link. */
  readonly token: string;
  readonly email: string;
  /** Whether the account's second factor remains. */
  readonly keepsCodes: boolean;
  /** `null`: no error. */
  readonly errors: PasswordErrors | null;
  /** Shown above the form. */
  readonly passkeyError: string | null;
  /** `PublicKeyCredentialCreationOptionsJSON`; `null`: no passkeys. */
  readonly passkeyOptions: Readonly<Record<string, unknown>> | null;
}

export function accountLinkPage(layout: Layout, page: AccountLinkPage): Markup {
  const heading = layout.text(`link.${page.purpose}`);
  return renderPage(
    layout,
    page.errors === null && page.passkeyError === null ? heading : layout.text('link.failed-title'),
    html`<div class="head">
<h1>${heading}</h1>
<p>${layout.text(page.purpose === 'reset' && page.keepsCodes ? 'link.reset.why-codes' : `link.${page.purpose}.why`)}</p>
</div>
${page.passkeyError !== null && html`<p class="wrong" role="alert">${page.passkeyError}</p>`}
<div class="ways">
<form class="stack once" method="post" action="/${page.purpose}">
${hiddenFields({ token: page.token })}
<div class="fields">
<div class="field"><label for="email">${layout.text('field.email')}</label>
<input id="email" type="email" autocomplete="username" value="${page.email}" readonly></div>
${newPasswordFields(layout, { errors: page.errors, first: true })}
</div>
<button class="button main">${layout.text(`link.${page.purpose}.submit`)}</button>
</form>
${
  page.passkeyOptions !== null &&
  passkeyForm(layout, {
    kind: 'create',
    action: `/${page.purpose}`,
    options: page.passkeyOptions,
    fields: { token: page.token },
    label: layout.text('passkey.instead'),
  })
}
</div>
${pageScript(layout)}`,
    `/${page.purpose}?${new URLSearchParams({ token: page.token })}`,
  );
}
