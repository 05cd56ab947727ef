/** What protected servers are called, and what can be done there, in each language of the pages. */
import * as z from 'zod';
import { type InputOf, lazy, members, optional, optionMeta, record, text } from '../option-schema/fields.ts';
import type { OptionReport } from '../option-schema/reader.ts';
import { languageTags } from './texts/languages.ts';

/** Texts of a protected server in one language. Missing ones fall back to the untranslated text. */
const translationSchema = lazy(() =>
  z.strictObject({
    name: optional(text(), 'display name', 'the name'),
    scopes: optional(
      record(text(), 'an object, a sentence for each scope'),
      'scopes with their descriptions',
      'the descriptions',
    ),
  }),
);

/** By the tag of the language. */
export const translationsSchema = lazy(() => {
  const kind = `an object with translations by language: ${languageTags.join(', ')}`;
  const shape = members(languageTags, () => translationSchema().optional());
  return z.strictObject(shape).register(optionMeta, { kind });
});

/** Texts of a protected server in one language. Missing ones fall back to the untranslated text. */
type Translation = InputOf<typeof translationSchema>;
/** Texts of a protected server, by the tag of the language. */
type Translations = InputOf<typeof translationsSchema>;

/** The texts of a protected server that users see. */
interface DescribedServer {
  readonly name: string;
  readonly scopes: Readonly<Record<string, string>>;
  readonly translations?: Translations | undefined;
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
