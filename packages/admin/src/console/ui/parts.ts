/** Parts of pages: tables, filters, figures, times, facts and forms. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { type ConsoleLink, withQuery } from '../links.ts';
import type { ConsoleRequest } from '../page.ts';
import { icons } from './icons.ts';

// Creating a formatter costs as much as hundreds of its texts.
const counts = new Intl.NumberFormat('en');
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const dates = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const relativeTimes = new Intl.RelativeTimeFormat('en');

/** `1,204` */
export function formatCount(count: number): string {
  return counts.format(count);
}

/** `28 Nov`, in UTC. @param at epoch milliseconds */
export function formatDay(at: number): string {
  return days.format(at);
}

/** `2026-03-01 04:00`, in UTC. @param at epoch milliseconds */
export function formatMinute(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ');
}

/** `3 sessions`, `1 session` */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** One word of a POSIX shell, without control characters. */
export function quoteForShell(text: string): string {
  const printable = text.replaceAll(/\p{Cc}/gu, '');
  return /^[\w@.:/-]+$/.test(printable) ? printable : `'${printable.replaceAll("'", `'\\''`)}'`;
}

const UNITS = [
  [60, 1, 'second'],
  [3600, 60, 'minute'],
  [86_400, 3600, 'hour'],
  [14 * 86_400, 86_400, 'day'],
] as const;

/** `3 minutes ago`, `in 2 days`, or the date. Epoch seconds. */
export function time(at: number, now: number): Markup {
  const passed = now - at;
  const date = new Date(at * 1000);
  const unit = UNITS.find(([below]) => Math.abs(passed) < below);
  const words =
    unit === undefined
      ? dates.format(date)
      : Math.abs(passed) < 60
        ? 'just now'
        : relativeTimes.format(-Math.trunc(passed / unit[1]), unit[2]);
  return html`<time datetime="${date.toISOString()}" title="${date.toISOString()}">${words}</time>`;
}

/** A small word about a state. Never the only sign of it by its colour: it is a word. */
export function tag(word: string, kind: 'plain' | 'good' | 'warn' | 'bad' = 'plain'): Markup {
  return html`<span class="tag${kind !== 'plain' && ` ${kind}`}">${word}</span>`;
}

/** A cell of a table. */
export type Cell = Markup | string | null;

/** A column: its heading, and what its cells are. */
export interface Column {
  readonly heading: string;
  readonly kind?: 'number' | 'time' | 'short' | 'acts';
  /** The heading as a link that sorts by it, and the order in which the rows are by it now. */
  readonly link?: Markup;
  readonly order?: 'ascending' | 'descending';
}

/** Columns by what their cells are. */
export const columnOf = {
  time: (heading: string): Column => ({ heading, kind: 'time' }),
  number: (heading: string): Column => ({ heading, kind: 'number' }),
  actions: { heading: 'Actions', kind: 'acts' } satisfies Column,
} as const;

/**
 * A table that becomes cards on a narrow screen.
 * @param caption what it lists, for screen readers @param named columns; those of plain cells by their heading alone
 */
export function table(
  caption: string,
  named: readonly (Column | string)[],
  rows: readonly (readonly Cell[])[],
): Markup {
  const columns = named.map((one): Column => (typeof one === 'string' ? { heading: one } : one));
  const classOf = ({ kind }: Column) => kind !== undefined && html` class="${kind}"`;
  return html`<div class="scroll"><table class="fold">
<caption class="unseen">${caption}</caption>
<thead><tr>${columns.map((column) => html`<th scope="col"${classOf(column)}${column.order !== undefined && html` aria-sort="${column.order}"`}>${column.kind === 'acts' ? html`<span class="unseen">${column.heading}</span>` : (column.link ?? column.heading)}</th>`)}</tr></thead>
<tbody>
${rows.map(
  (cells) =>
    html`<tr>${cells.map((cell, index) => html`<td${classOf(columns[index] ?? { heading: '' })}${columns[index]?.kind === 'number' && html` data-of="${columns[index]?.heading}"`}>${cell}</td>`)}</tr>
`,
)}</tbody>
</table></div>`;
}

/** What is shown in place of an empty list: what would be here, and what to do next. */
export function empty(title: string, sentence: Markup | string, next?: ConsoleLink): Markup {
  return html`<div class="empty"><h2>${title}</h2><p>${sentence}</p>${next !== undefined && html`<a class="button" href="${next.href}">${next.label}</a>`}</div>`;
}

/** Links to the first and the next page of a list. @param next cursor; `null`: this is the last one */
export function pageLinks({ path }: Pick<ConsoleRequest, 'path'>, next: string | null): Markup {
  const [base = '', query = ''] = path.split('?', 2);
  const given = Object.fromEntries(new URLSearchParams(query));
  const { after, ...rest } = given;
  if (after === undefined && next === null) return html``;
  return html`<nav class="pages" aria-label="Pages">${after !== undefined && html`<a class="button" href="${withQuery(base, rest)}">First page</a>`}${next !== null && html`<a class="button" href="${withQuery(base, { ...rest, after: next })}" rel="next">Next page</a>`}</nav>`;
}

/**
 * A search field, and links to what the list can be limited to: both are part of its address.
 * @param search the label of the field @param choices values of `show` with their texts; the empty one stands for all
 */
export function filterBar(
  { path, query }: Pick<ConsoleRequest, 'path' | 'query'>,
  search: string,
  choices: readonly (readonly [value: string, label: string])[] = [],
): Markup {
  const [base = ''] = path.split('?', 1);
  const [q, show] = [query.get('q') ?? '', query.get('show') ?? ''];
  return html`<div class="filters">
<form class="search" role="search" action="${base}">${show !== '' && html`<input type="hidden" name="show" value="${show}">`}<input type="search" name="q" value="${q}" placeholder="${search}" aria-label="${search}" data-search><button class="button">Search</button></form>
${choices.map(([value, label]) => html`<a class="chip" href="${withQuery(base, { q, show: value })}"${show === value && html` aria-current="true"`}>${label}</a>`)}
</div>`;
}

/** Facts as terms with their values; those that are `null` are left out. */
export function facts(pairs: readonly (readonly [term: string, value: Cell])[]): Markup {
  return html`<dl class="facts">${pairs.map(([term, value]) => value !== null && html`<dt>${term}</dt><dd>${value}</dd>`)}</dl>`;
}

/** A part of a page with its heading. */
export function section(heading: string, body: Markup, aside: Markup | null = null): Markup {
  return html`<section><div class="head"><h2>${heading}</h2>${aside}</div>${body}</section>`;
}

/** Why nothing was changed. */
export function errorNotice(error: { readonly message: string } | null): Markup {
  return html`${error !== null && html`<p class="notice bad" role="alert">${icons.warning}<span>${error.message}</span></p>`}`;
}

/** A number with its label and what it is compared with. */
export function figure(label: string, value: string, than: string, href: string): Markup {
  return html`<a class="figure" href="${href}"><span class="label">${label}</span><span class="value">${value}</span><span class="than">${than}</span></a>`;
}

/** A text that can be copied; the button works with the script of the page. */
export function copyText(text: string): Markup {
  return html`<div class="copyable"><pre class="wrap" tabindex="0">${text}</pre><button type="button" class="button" data-copy="${text}" hidden>Copy</button></div>`;
}

/** A form that is posted, with its CSRF token. */
export function postForm(
  { csrfToken }: Pick<ConsoleRequest, 'csrfToken'>,
  action: string,
  content: Markup,
): Markup {
  return html`<form class="fields" method="post" action="${action}"><input type="hidden" name="token" value="${csrfToken}">
${content}
</form>`;
}

/** A field with its label and hint. */
interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly value?: string;
  readonly type?: 'email' | 'url';
  readonly isRequired?: boolean;
  readonly maxLength?: number;
  /** Lines of a text; absent: one. */
  readonly rows?: number;
  /** Values and texts to choose from. */
  readonly choices?: readonly (readonly [value: string, label: string])[];
}

/** A labelled input, text area or choice. */
export function field(about: Field): Markup {
  const { name, label, hint } = about;
  const attributes = html`id="${name}" name="${name}"${about.isRequired === true && html` required`}${about.maxLength !== undefined && html` maxlength="${about.maxLength}"`}${hint !== undefined && html` aria-describedby="${name}-hint"`}`;
  return html`<div class="field"><label for="${name}">${label}</label>
${inputOf(about, attributes)}
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`;
}

function inputOf({ choices, rows, type, value = '' }: Field, attributes: Markup): Markup {
  if (choices !== undefined)
    return html`<select ${attributes}>${choices.map(([one, label]) => html`<option value="${one}"${one === value && html` selected`}>${label}</option>`)}</select>`;
  if (rows !== undefined) return html`<textarea ${attributes} rows="${rows}">${value}</textarea>`;
  return html`<input ${attributes} type="${type ?? 'text'}" value="${value}">`;
}
