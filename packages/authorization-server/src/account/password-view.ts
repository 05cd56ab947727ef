/** View of the password page. */
import { html } from 'hono/html';
import { accountPaths, accountTabs } from '../ui/account-tabs.ts';
import { formField, hiddenFields, type Layout, pageScript, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { newPasswordFields, type PasswordErrors } from '../users/new-password.ts';

export interface PasswordPage {
  readonly email: string;
  /** Whether the user may have no password because of a passkey. */
  readonly mayLackPassword: boolean;
  /** Shown at the current password. */
  readonly currentError: string | null;
  /** `null`: none. */
  readonly errors: PasswordErrors | null;
  /** Whether all other sessions end. */
  readonly endOthers: boolean;
  readonly token: string;
}

export function passwordPage(layout: Layout, page: PasswordPage): Markup {
  const { errors, currentError: wrongCurrent } = page;
  const isNewWrong = errors !== null;
  return renderPage(
    layout,
    layout.text(isNewWrong || wrongCurrent !== null ? 'link.failed-title' : 'password.change'),
    html`${accountTabs(layout, 'account')}
<div class="head">
<h1>${layout.text('password.change')}</h1>
${page.mayLackPassword && html`<p class="fact">${layout.text('password.none')}</p>`}
</div>
<form class="stack once" method="post" action="/account/password">
${hiddenFields({ token: page.token })}
<input hidden type="email" autocomplete="username" value="${page.email}" readonly>
<div class="fields">
${formField({
  name: 'current',
  type: 'password',
  label: layout.text('password.current'),
  autocomplete: 'current-password',
  error: wrongCurrent,
  focus: !isNewWrong,
})}
${newPasswordFields(layout, { errors, first: isNewWrong, label: 'password.new' })}
<label class="choice">${layout.text('password.others')}<input type="checkbox" role="switch" name="others" value="end"${page.endOthers && html` checked`}></label>
</div>
<div class="answers">
<a class="button" href="${accountPaths.account}">${layout.text('passkey.cancel')}</a>
<button class="button main">${layout.text('password.submit')}</button>
</div>
</form>
${pageScript(layout)}`,
  );
}
