/** Texts of the pages: their names, and how placeholders are filled. */
import { html } from 'hono/html';
import type { Markup } from '../markup.ts';
import type english from './en.json';

/** The name of a text. */
export type TextName = keyof typeof english;

/** All texts in one language. */
export type Texts = Readonly<Record<TextName, string>>;

/** Values by placeholder. */
export type TextValues = Readonly<Record<string, Markup | string | number>>;

const PLACEHOLDER = /\{([a-z]+)\}/g;

/** The placeholders of a text, sorted. */
export function placeholdersOf(text: string): readonly string[] {
  return [...new Set([...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))].toSorted();
}

/** Fills the placeholders; values that are not markup are escaped. */
export function fillMarkup(text: string, values: TextValues): Markup {
  // The pattern has a group, so every second part is the name of a placeholder.
  const parts = text.split(PLACEHOLDER).map((part, index) => (index % 2 === 0 ? part : (values[part] ?? '')));
  return html`${parts}`;
}

/** Fills the placeholders as plain text. */
export function fillText(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(PLACEHOLDER, (_placeholder, name: string) => String(values[name] ?? ''));
}
