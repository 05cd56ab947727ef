/** The form that creates or uses a passkey, and the script that it needs. */
import { html } from 'hono/html';
import { hiddenFields, type Layout } from './layout.ts';
import type { Markup } from './markup.ts';

export interface PasskeyForm {
  /** Whether a passkey is asked for, or made. */
  readonly kind: 'get' | 'create';
  readonly action: string;
  /** For the browser, as JSON. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly fields: Readonly<Record<string, string | null>>;
  readonly label: string;
  /** What else the form asks. */
  readonly content?: Markup;
  readonly main?: boolean;
}

/** Hidden until the script has found that the browser knows passkeys. */
export function passkeyForm(
  layout: Layout,
  { kind, action, options, fields, label, content, main = false }: PasskeyForm,
): Markup {
  const trouble = layout.text(kind === 'get' ? 'passkey.none-used' : 'passkey.none-made');
  return html`<form class="fields" method="post" action="${action}" data-passkey="${kind}" data-options="${JSON.stringify(options)}" hidden>
${hiddenFields({ ...fields, credential: '' })}
${content ?? ''}
<p class="wrong" role="alert" data-trouble hidden>${trouble}</p>
<button class="button${main && ' main'}">${label}</button>
</form>`;
}

/** Stands on every page with such a form; the page has to be sent with `script`. */
export function passkeyScript({ script }: Layout): Markup {
  return html`<script src="${script}" defer></script>`;
}
