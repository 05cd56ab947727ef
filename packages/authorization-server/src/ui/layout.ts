/** The page layout: one card with the operator's logo, and form fields shared by all pages. */
import { html } from 'hono/html';
import type { Link } from './brand.ts';
import type { Markup } from './markup.ts';
import { type Language, languageTags } from './texts/languages.ts';
import { fillMarkup, fillText, type TextName, type Texts, type TextValues } from './texts/texts.ts';

/** What all pages in one language share. */
export interface Layout {
  /** As users know it. */
  readonly serverName: string;
  readonly language: Language;
  /** A text with plain values. */
  text(name: TextName, values?: Readonly<Record<string, string | number>>): string;
  /** A text as markup: values may be markup. */
  say(name: TextName, values: TextValues): Markup;
  /** For the language switch. */
  readonly others: readonly { readonly tag: string; readonly name: string }[];
  readonly stylesheet: string;
  readonly script: string;
  /** Path of the operator's logo; `null`: the portcullis icon. */
  readonly logo: string | null;
  /** Path of the icon that browsers show in tabs. */
  readonly favicon: string;
  readonly links: readonly Link[];
  /** Whether calls may need an approval: the account pages then link to those that wait. */
  readonly approvals: boolean;
}

/** What is the same in all languages. */
export type LayoutOptions = Omit<Layout, 'language' | 'text' | 'say' | 'others'>;

export function createLayout(
  mounting: LayoutOptions,
  language: Language,
  texts: Readonly<Record<Language, Texts>>,
): Layout {
  const own = texts[language];
  const others = languageTags.filter((tag) => tag !== language);
  return {
    ...mounting,
    language,
    text: (name, values = {}) => fillText(own[name], values),
    say: (name, values) => fillMarkup(own[name], values),
    others: others.map((tag) => ({ tag, name: texts[tag]['language.name'] })),
  };
}

/**
 * Renders an HTML document.
 * @param title shown before the server's name
 * @param here path for the language switch if the page is a response to a form; `null`: the page cannot be loaded again
 * @param width `wide` for pages with lists
 */
export function renderPage(
  layout: Layout,
  title: string,
  content: Markup,
  here?: string | null,
  width: 'narrow' | 'wide' = 'narrow',
): Markup {
  const name = html`${layout.logo === null ? gateIcon : html`<img src="${layout.logo}" alt="" height="20">`}<bdi>${layout.serverName}</bdi>`;
  // A page that asks one question does not lead away from it.
  const mark = width === 'wide' ? html`<a href="/">${name}</a>` : name;
  return html`<!doctype html>
<html lang="${layout.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · ${layout.serverName}</title>
<link rel="icon" href="${layout.favicon}">
<link rel="stylesheet" href="${layout.stylesheet}">
</head>
<body${width === 'wide' && html` class="wide"`}>
<main>
<p class="mark">${mark}</p>
<div class="stack">
${content}
</div>
</main>
${footer(layout, here)}
</body>
</html>
`;
}

/** Footer with the operator's links and the language switch, which returns to this page. */
function footer({ links, others }: Layout, here: string | null | undefined): Markup {
  const back = here == null ? '' : `&back=${encodeURIComponent(here)}`;
  return html`<footer class="fact">
${links.map(({ label, href }) => html`<a href="${href}">${label}</a>`)}
${here !== null && others.map(({ tag, name }) => html`<a href="/language?to=${tag}${back}" lang="${tag}" hreflang="${tag}" rel="nofollow" referrerpolicy="same-origin">${name}</a>`)}
</footer>`;
}

/** The portcullis icon. */
const gateIcon = html`<svg width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M2.75 17.25V9a7.25 7.25 0 0 1 14.5 0v8.25M7.5 15.5V2.4M12.5 15.5V2.4M2.75 8h14.5M2.75 12.5h14.5"/></svg>`;

/** The script of the pages; respond with the option `script`. */
export function pageScript({ script }: Layout): Markup {
  return html`<script src="${script}" defer><\/script>`;
}

/** An input with its label, error and hint; both are announced with the field. */
export interface FormField {
  readonly name: string;
  readonly type: 'email' | 'password';
  readonly label: string;
  readonly autocomplete: 'username' | 'username webauthn' | 'current-password' | 'new-password';
  readonly value?: string;
  readonly error?: string | null;
  readonly hint?: string;
  readonly focus?: boolean;
}

export function formField(about: FormField): Markup {
  const { name, type, label, autocomplete, value = '', error: wrong = null, hint, focus = false } = about;
  const notes = [
    ...(wrong === null ? [] : [`${name}-wrong`]),
    ...(hint === undefined ? [] : [`${name}-hint`]),
  ];
  const input = html`<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" value="${value}" required${
    type === 'email' && html` autocapitalize="none" spellcheck="false"`
  }${wrong !== null && html` aria-invalid="true"`}${
    notes.length > 0 && html` aria-describedby="${notes.join(' ')}"`
  }${focus && html` autofocus`}>`;
  return html`<div class="field">
<label for="${name}">${label}</label>
${input}
${wrong !== null && html`<p class="wrong" id="${name}-wrong" role="alert">${wrong}</p>`}
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
</div>`;
}

/** Shows the passwords of its form. Hidden until the script of the page makes it work. */
export function revealPasswords({ text }: Layout): Markup {
  return html`<label class="reveal" data-reveal hidden><input type="checkbox">${text('password.reveal')}</label>`;
}

/** Hidden form fields; `null` values are left out. */
export function hiddenFields(values: Readonly<Record<string, string | null>>): Markup {
  const inputs = Object.entries(values).flatMap(([name, value]) =>
    value === null ? [] : [html`<input type="hidden" name="${name}" value="${value}">`],
  );
  return html`${inputs}`;
}
