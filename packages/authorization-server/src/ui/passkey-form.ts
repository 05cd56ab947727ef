/** The form that creates or uses a passkey, and the script that it needs. */
import { html } from 'hono/html';
import { hiddenFields, type Layout } from './layout.ts';
import { passkeyIcon } from './marks.ts';
import type { Markup } from './markup.ts';

export interface PasskeyForm {
  /** Use a passkey, or create one. */
  readonly kind: 'get' | 'create';
  readonly action: string;
  /** WebAuthn options as JSON. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly fields: Readonly<Record<string, string | null>>;
  readonly label: string;
  /** Additional fields. */
  readonly content?: Markup;
  readonly main?: boolean;
}

/** Hidden until the script finds that the browser supports passkeys. */
export function passkeyForm(
  layout: Layout,
  { kind, action, options, fields, label, content, main = false }: PasskeyForm,
): Markup {
  const failed = layout.text(kind === 'get' ? 'passkey.none-used' : 'passkey.none-made');
  return html`<form class="fields" method="post" action="${action}" data-passkey="${kind}" data-options="${JSON.stringify(options)}" hidden>
${hiddenFields({ ...fields, credential: '' })}
${content ?? ''}
<p class="wrong" role="alert" data-trouble hidden>${failed}</p>
<button class="button marked${main && ' main'}">${passkeyIcon}<span>${label}</span></button>
</form>`;
}
