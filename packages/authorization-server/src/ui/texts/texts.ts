/** Texts of the pages: which there are, and how what changes is put into them. */
import { html } from 'hono/html';
import type { Markup } from '../markup.ts';
import type { english } from './english.ts';

/** The name of a text. */
export type TextName = keyof typeof english;

/** All texts in one language. */
export type Texts = Readonly<Record<TextName, string>>;

/** What is put into a text, by the names of its places. */
export type TextValues = Readonly<Record<string, Markup | string | number>>;

const PLACEHOLDER = /\{([a-z]+)\}/g;

/** The places of a text, in order of their names. */
export function placeholdersOf(text: string): readonly string[] {
  return [...new Set([...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))].toSorted();
}

/** A text with its places filled, as markup: what is no markup yet is escaped. */
export function fillMarkup(text: string, values: TextValues): Markup {
  // A pattern with a group: every second part is the name of a place.
  const parts = text.split(PLACEHOLDER).map((part, index) => (index % 2 === 0 ? part : (values[part] ?? '')));
  return html`${parts}`;
}

/** A text with its places filled, as plain text: only for values that are none of markup. */
export function fillText(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(PLACEHOLDER, (_place, name: string) => String(values[name] ?? ''));
}
