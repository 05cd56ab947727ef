/** Untrusted text on a page: as text alone, whole, and with every character that is not seen made visible. */
import { parseExactly, toDouble } from '@portcullis/http';
import { html } from 'hono/html';
import type { Layout } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';

/** Characters without a glyph of their own: controls, formats and bidirectional marks, other spaces, fillers, unassigned ones. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** The text with each unseen character as its code point. Line ends remain, except in a name. */
export function visibleText(text: string, { isName = false } = {}): Markup {
  const pieces: (Markup | string)[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(UNSEEN)) {
    if (character === '\n' && !isName) continue;
    pieces.push(text.slice(end, index), html`<span class="unseen">${nameOf(character)}</span>`);
    end = index + character.length;
  }
  return html`${[...pieces, text.slice(end)]}`;
}

/** The same as plain text, for a terminal: `<U+202E>`. */
export function escapedText(text: string, { isName = false } = {}): string {
  return text.replace(UNSEEN, (character) =>
    character === '\n' && !isName ? character : `<${nameOf(character)}>`,
  );
}

/** `U+202E` */
function nameOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Characters and lines up to which a text is shown without a click. */
const SHORT = { characters: 600, lines: 12 };
/** Characters of a long text that are shown before. */
const BEGINNING = 200;

/** A text, folded if it is long: nothing is left out. */
export function foldedText(layout: Layout, text: string): Markup {
  const whole = html`<pre class="given" dir="ltr">${visibleText(text)}</pre>`;
  if (text.length <= SHORT.characters && text.split('\n').length <= SHORT.lines) return whole;
  const beginning = text.slice(0, BEGINNING).replace(/[\ud800-\udbff]$/, '');
  const count = new Intl.NumberFormat(layout.language).format(text.length);
  return html`<details class="about"><summary><span class="given">${visibleText(beginning.replace(/\s+/g, ' '))}…</span> <span class="fact">${layout.text('approval.long', { count })}</span></summary>
${whole}</details>`;
}

/** An argument of a call, by its name, or what else is sent with it: `params._meta`, `headers.x-tenant`. */
export interface ShownArgument {
  readonly name: string;
  /** JSON, indented; a text between quotes, with its line ends. */
  readonly text: string;
}

/**
 * The arguments as they are written: numbers with their digits.
 * @param json of an object without repeated members, or of a list of it, the other parameters and headers; empty: none
 */
export function readShownArguments(json: string): readonly ShownArgument[] {
  if (json === '') return [];
  const given = parseExactly(json);
  const [own, others, headers] = Array.isArray(given) ? given : [given];
  return [...showMembers(own, ''), ...showMembers(others, 'params.'), ...showMembers(headers, 'headers.')];
}

function showMembers(members: unknown, path: string): readonly ShownArgument[] {
  return Object.entries(Object(members)).map(([member, value]) => ({
    name: path + member,
    text: typeof value === 'string' ? `"${value}"` : indentedJson(value),
  }));
}

/** Levels that are indented. What is deeper is on one line: deep lists would become sixty times as long. */
const INDENTED_LEVELS = 4;

function indentedJson(value: unknown, level = 0): string {
  const isNested = value !== null && typeof toDouble(value) === 'object';
  const members = isNested && level < INDENTED_LEVELS ? Object.entries(value as object) : [];
  if (members.length === 0) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const margin = `\n${'  '.repeat(level)}`;
  const lines = members.map(
    ([name, one]) => `${margin}  ${isList ? '' : `${JSON.stringify(name)}: `}${indentedJson(one, level + 1)}`,
  );
  return `${isList ? '[' : '{'}${lines.join(',')}${margin}${isList ? ']' : '}'}`;
}
