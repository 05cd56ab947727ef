/** The page that takes the address for a reset link. */
import { html } from 'hono/html';
import { formField, hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';

interface ResetRequestPage {
  /** Hidden fields that identify the login target. */
  readonly fields: Readonly<Record<string, string>>;
  readonly token: string;
  /** Typed before. */
  readonly email: string;
  readonly error: string | null;
  /** The login page. */
  readonly restartPath: string;
}

export function resetRequestPage(layout: Layout, page: ResetRequestPage): Markup {
  const { fields, token, email, error, restartPath } = page;
  return renderPage(
    layout,
    layout.text('forgotten.heading'),
    html`<div class="head">
<h1>${layout.text('forgotten.heading')}</h1>
<p>${layout.text('forgotten.by-mail')}</p>
</div>
<form class="stack once" method="post" action="/login/forgotten">
${hiddenFields({ ...fields, token })}
<div class="fields">
${formField({ name: 'email', type: 'email', label: layout.text('field.email'), autocomplete: 'username', value: email, error, focus: true })}
</div>
<button class="button main">${layout.text('forgotten.send')}</button>
</form>
<a class="link fact" href="${restartPath}">${layout.text('forgotten.back')}</a>`,
    `/login/forgotten?${new URLSearchParams(fields)}`,
  );
}
