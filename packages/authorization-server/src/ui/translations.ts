/** What protected servers are called, and what can be done there, in each language of the pages. */
import { type Language, languageTags } from './texts/languages.ts';

/** What is said of a protected server in one language. What is left out is said as it is without a language. */
export interface Translation {
  readonly name?: string;
  /** Each scope with the sentence that a person reads. */
  readonly scopes?: Readonly<Record<string, string>>;
}

/** By the tag of the language. */
export type Translations = Partial<Readonly<Record<Language, Translation>>>;

/** A protected server as far as people read of it. */
interface DescribedServer {
  readonly name: string;
  readonly scopes: Readonly<Record<string, string>>;
  readonly translations?: Translations;
}

/** The same in the words of a language. Which scopes there are, and their order, does not change. */
export function translate<Definition extends DescribedServer>(
  definition: Definition,
  language: string,
): Definition {
  const tag = languageTags.find((known) => known === language);
  const translation = tag === undefined ? undefined : definition.translations?.[tag];
  if (translation === undefined) return definition;
  const scopes = { ...definition.scopes, ...translation.scopes };
  return { ...definition, name: translation.name ?? definition.name, scopes };
}

/** @param at where the definition stands in the options */
export function validateTranslations(
  { scopes, translations = {} }: DescribedServer,
  at: string,
  issues: string[],
): void {
  for (const [tag, translation] of Object.entries(translations)) {
    const here = `${at}.translations.${tag}`;
    if (!languageTags.some((known) => known === tag)) {
      issues.push(`${here} is no language of the pages: they speak ${languageTags.join(', ')}`);
      continue;
    }
    const { name = 'named elsewhere', scopes: sentences = {} } = translation;
    if (name.trim() === '') issues.push(`${here}.name must be a text`);
    for (const [scope, sentence] of Object.entries(sentences)) {
      if (!Object.hasOwn(scopes, scope))
        issues.push(`${here}.scopes: ${JSON.stringify(scope)} is not one of its scopes`);
      else if (sentence.trim() === '') issues.push(`${here}.scopes: ${scope} must be a text`);
    }
  }
}
