/** The MFA page: prompts for a TOTP or recovery code after the first factor. */
import { html } from 'hono/html';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';

/** Takes six digits or a recovery code. */
export function mfaCodeField(label: string, error: string | null, hint: string | null): Markup {
  const notes = [error !== null && 'code-wrong', hint !== null && 'code-hint'].filter(
    (note) => note !== false,
  );
  return html`<div class="field">
<label for="code">${label}</label>
<input id="code" name="code" type="text" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="40" required autofocus${
    error !== null && html` aria-invalid="true"`
  }${notes.length > 0 && html` aria-describedby="${notes.join(' ')}"`}>
${error !== null && html`<p class="wrong" id="code-wrong" role="alert">${error}</p>`}
${hint !== null && html`<p class="hint" id="code-hint">${hint}</p>`}
</div>`;
}

export interface MfaPage {
  readonly fields: Readonly<Record<string, string>>;
  readonly error: string | null;
  /** Starts the login again. */
  readonly restartPath: string;
}

export function mfaPage(layout: Layout, page: MfaPage): Markup {
  return renderPage(
    layout,
    layout.text(page.error === null ? 'code.heading' : 'sign-in.failed-title'),
    html`<div class="head">
<h1>${layout.text('code.heading')}</h1>
<p>${layout.text('code.where')}</p>
</div>
<form class="stack once" method="post" action="/login/code">
${hiddenFields(page.fields)}
${mfaCodeField(layout.text('code.label'), page.error, layout.text('code.recovery'))}
<button class="button main">${layout.text('sign-in.submit')}</button>
</form>
<p class="fact"><a href="${page.restartPath}">${layout.text('code.other')}</a></p>`,
    page.restartPath,
  );
}
