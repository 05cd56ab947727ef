/** The page on which somebody changes their password. */
import { html } from 'hono/html';
import { definePage, type Page } from './define-page.ts';
import { type Frame, field, hidden, layout } from './layout.ts';
import type { Markup } from './markup.ts';
import { type PasswordFields, passwordFields } from './password-fields.ts';
import { homePaths, tabs } from './tabs.ts';

export interface PasswordPage {
  readonly email: string;
  /** Whether they may have no password, because they sign in by a passkey. */
  readonly mayLackPassword: boolean;
  /** What was wrong with the current password, in words; `null` when nothing was. */
  readonly wrongCurrent: string | null;
  readonly wrong: PasswordFields['wrong'];
  /** Whether every other session is to end. */
  readonly endOthers: boolean;
  readonly token: string;
}

export const passwordPage: Page<PasswordPage> = definePage('password', renderPassword);

function renderPassword(frame: Frame, page: PasswordPage): Markup {
  const { wrong, wrongCurrent } = page;
  const isNewWrong = wrong.password !== null || wrong.passwordAgain !== null;
  return layout(
    frame,
    frame.text(isNewWrong || wrongCurrent !== null ? 'link.failed-title' : 'password.change'),
    html`${tabs(frame, 'account')}
<div class="head">
<h1>${frame.text('password.change')}</h1>
${page.mayLackPassword && html`<p class="fact">${frame.text('password.none')}</p>`}
</div>
<form class="stack once" method="post" action="/account/password">
${hidden({ token: page.token })}
<input hidden type="email" autocomplete="username" value="${page.email}" readonly>
<div class="fields">
${field({
  name: 'current',
  type: 'password',
  label: frame.text('password.current'),
  autocomplete: 'current-password',
  wrong: wrongCurrent,
  focus: !isNewWrong,
})}
${passwordFields(frame, { wrong, first: isNewWrong, label: 'password.new' })}
<label class="choice">${frame.text('password.others')}<input type="checkbox" role="switch" name="others" value="end"${page.endOthers && html` checked`}></label>
</div>
<div class="answers">
<a class="button" href="${homePaths.account}">${frame.text('passkey.cancel')}</a>
<button class="button main">${frame.text('password.submit')}</button>
</div>
</form>`,
  );
}
