/** The pages behind links for owners of accounts: choosing how to sign in, for the first time or anew. */
import { html } from 'hono/html';
import { definePage, type Page } from './define-page.ts';
import { type Frame, hidden, layout } from './layout.ts';
import type { Markup } from './markup.ts';
import { passkeyForm, passkeyScript } from './passkeys.ts';
import { type PasswordFields, passwordFields } from './password-fields.ts';

export interface AccountLinkPage {
  readonly purpose: 'invitation' | 'reset';
  /** The token of the link. */
  readonly token: string;
  readonly email: string;
  /** `null` when nothing was wrong. */
  readonly wrong: PasswordFields['wrong'] | null;
  /** What was wrong with a passkey. */
  readonly trouble: string | null;
  /** For the browser; `null` where there are no passkeys. */
  readonly passkeyOptions: Readonly<Record<string, unknown>> | null;
}

export const accountLinkPage: Page<AccountLinkPage> = definePage('account-link', renderAccountLink);

function renderAccountLink(frame: Frame, page: AccountLinkPage): Markup {
  const heading = frame.text(`link.${page.purpose}`);
  return layout(
    frame,
    page.wrong === null && page.trouble === null ? heading : frame.text('link.failed-title'),
    html`<div class="head">
<h1>${heading}</h1>
<p>${frame.text(`link.${page.purpose}.why`)}</p>
</div>
${page.trouble !== null && html`<p class="wrong" role="alert">${page.trouble}</p>`}
<div class="ways">
<form class="stack once" method="post" action="/${page.purpose}">
${hidden({ token: page.token })}
<div class="fields">
<div class="field"><label for="email">${frame.text('field.email')}</label>
<input id="email" type="email" autocomplete="username" value="${page.email}" readonly></div>
${passwordFields(frame, {
  wrong: page.wrong ?? { password: null, passwordAgain: null },
  first: true,
})}
</div>
<button class="button main">${frame.text(`link.${page.purpose}.submit`)}</button>
</form>
${
  page.passkeyOptions !== null &&
  passkeyForm(frame, {
    kind: 'create',
    action: `/${page.purpose}`,
    options: page.passkeyOptions,
    fields: { token: page.token },
    label: frame.text('passkey.instead'),
  })
}
</div>
${page.passkeyOptions !== null && passkeyScript(frame)}`,
    `/${page.purpose}?${new URLSearchParams({ token: page.token })}`,
  );
}
