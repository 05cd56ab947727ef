/** What protected servers are called, and what can be done there, in each language of the pages. */
import type * as z from 'zod';
import { lazy, members, type OptionReport, object, optional, record, text } from '../option-schema.ts';
import { type Language, languageTags } from './texts/languages.ts';

/** Texts of a protected server in one language. Missing ones fall back to the untranslated text. */
export interface Translation {
  readonly name?: string;
  /** Descriptions of scopes, as users read them. */
  readonly scopes?: Readonly<Record<string, string>>;
}

/** By the tag of the language. */
export type Translations = Partial<Readonly<Record<Language, Translation>>>;

/** The texts of a protected server that users see. */
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

const kinds = 'an object, a sentence for each scope';

export const translationsSchema: () => z.ZodType<Translations> = lazy(() => {
  const translation = () =>
    object<Translation>({
      name: optional(text(), 'display name', { defaultText: 'the name' }),
      scopes: optional(record(text(), kinds), 'scopes with their descriptions', {
        defaultText: 'the descriptions',
      }),
    }).optional();
  return object<Translations>(
    members(languageTags, translation),
    `an object with translations by language: ${languageTags.join(', ')}`,
  );
});

/** @param path of the definition in the options */
export function checkTranslations(
  { scopes, translations = {} }: DescribedServer,
  path: readonly string[],
  report: OptionReport,
): void {
  for (const [tag, translation] of Object.entries<Translation | undefined>(translations)) {
    const at = [...path, 'translations', tag, 'scopes'];
    if (report.isUnread(...at) || report.isUnread(...path, 'scopes')) continue;
    for (const scope of Object.keys(translation?.scopes ?? {})) {
      if (!Object.hasOwn(scopes, scope)) report.add(at, `unknown scope ${JSON.stringify(scope)}`);
    }
  }
}
