/**
 * The languages of the pages, one JSON file each, and content negotiation by `Accept-Language`. A file that lacks a text does not
 * compile.
 */
import { parseAccept } from 'hono/utils/accept';
import german from './de.json' with { type: 'json' };
import english from './en.json' with { type: 'json' };
import spanish from './es.json' with { type: 'json' };
import french from './fr.json' with { type: 'json' };
import japanese from './ja.json' with { type: 'json' };
import type { Texts } from './texts.ts';
import chinese from './zh.json' with { type: 'json' };

/** A language tag. English is the default. */
export type Language = 'en' | 'de' | 'fr' | 'es' | 'ja' | 'zh';

export const languages: Readonly<Record<Language, Texts>> = {
  en: english,
  de: german,
  fr: french,
  es: spanish,
  ja: japanese,
  zh: chinese,
};

export const languageTags: readonly Language[] = ['en', 'de', 'fr', 'es', 'ja', 'zh'];

export function readLanguage(text: string | null | undefined): Language | null {
  return languageTags.find((tag) => tag === text) ?? null;
}

/** Longer than any browser's header; the rest is ignored. */
const MAX_HEADER_LENGTH = 500;

/**
 * The supported language that a browser prefers.
 * @param header `Accept-Language`
 * @see RFC 9110 §12.5.4
 */
export function preferredLanguage(header: string | null): Language {
  return findLanguage(header) ?? 'en';
}

/** The language of `ui_locales`, a list separated by spaces; `null`: none that is supported. @see OpenID Connect Core §3.1.2.1 */
export function requestedLanguage(uiLocales: string | null | undefined): Language | null {
  return findLanguage(uiLocales?.replaceAll(' ', ',') ?? null);
}

function findLanguage(header: string | null): Language | null {
  const ranges = parseAccept((header ?? '').slice(0, MAX_HEADER_LENGTH)).filter(({ q }) => q > 0);
  const [first = null] = ranges.flatMap(({ type }) => languageOfRange(type) ?? []);
  return first;
}

/** Reads for example `de-AT` as German; regions are ignored. */
function languageOfRange(range: string): Language | null {
  return range === '*' ? 'en' : readLanguage(range.toLowerCase().split('-')[0]);
}
