/** Routes of pages: each request gets the page context of its language, and its errors become pages. */
import type { ConnectionInfo, HttpRequest, HttpResponse } from '@portcullis/http';
import type { Brand } from '../ui/brand.ts';
import { createLayout, type Layout, type LayoutOptions } from '../ui/layout.ts';
import { type Language, languageTags } from '../ui/texts/languages.ts';
import { createPageErrors, type ErrorContext, type PageErrors, respondNotFoundPage } from './error-pages.ts';
import { languageOf } from './language.ts';
import type { Route } from './router.ts';

/** Pages in the language of one request. */
export interface InLanguage {
  readonly layout: Layout;
  readonly errors: PageErrors;
}

/** Handles a page request. An error that it throws becomes an error page. */
type PageHandler<Services> = (
  context: Services & InLanguage,
  request: HttpRequest,
  connection: ConnectionInfo,
) => Promise<HttpResponse>;

/** Services, and `route`, which defines the routes of pages. */
export type PageRouterOf<Services> = Services & {
  route(method: Route['method'], path: string, handle: PageHandler<Services>): Route;
};

/** Creates one page context for each language. */
function createPageContexts<Services extends ErrorContext>(
  services: Services,
  { texts }: Brand,
  layoutOptions: LayoutOptions,
): (language: Language) => Services & InLanguage {
  const contexts = Object.fromEntries(
    languageTags.map((language): [Language, Services & InLanguage] => {
      const layout = createLayout(layoutOptions, language, texts);
      return [language, { ...services, layout, errors: createPageErrors(services, layout) }];
    }),
  ) as Record<Language, Services & InLanguage>;
  return (language) => contexts[language];
}

export function createPageRouter<Services extends ErrorContext>(
  services: Services,
  brand: Brand,
  layoutOptions: LayoutOptions,
): PageRouterOf<Services> {
  const contextIn = createPageContexts(services, brand, layoutOptions);
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
