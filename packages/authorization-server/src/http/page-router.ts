/** Routes of pages: each request gets the page context of its language, and its errors become pages. */
import type { HttpRequest } from '@portcullis/http';
import type { PageContext, PageRouter, PageServices } from '../page-context.ts';
import { createLayout, type LayoutOptions } from '../ui/layout.ts';
import { type Language, languageTags } from '../ui/texts/languages.ts';
import { createPageErrors, respondNotFoundPage } from './error-pages.ts';
import { languageOf } from './language.ts';

/** Creates one page context for each language. */
export function createPageContexts(
  services: PageServices,
  layoutOptions: LayoutOptions,
): (language: Language) => PageContext {
  const { brand } = services.options;
  const contexts = Object.fromEntries(
    languageTags.map((language): [Language, PageContext] => {
      const layout = createLayout(layoutOptions, language, brand.texts);
      return [language, { ...services, layout, errors: createPageErrors(services, layout) }];
    }),
  ) as Record<Language, PageContext>;
  return (language) => contexts[language];
}

export function createPageRouter(
  services: PageServices,
  contextIn: (language: Language) => PageContext,
): PageRouter {
  const contextOf = (request: HttpRequest) => contextIn(languageOf(request));
  return {
    ...services,
    route: (method, path, handle) => ({
      method,
      path,
      async handle(request, connection) {
        const context = contextOf(request);
        try {
          return await handle(context, request, connection);
        } catch (error) {
          return context.errors.respond(path, error);
        }
      },
      respondMethodNotAllowed: (request) => respondNotFoundPage(contextOf(request).layout, 405),
    }),
  };
}
