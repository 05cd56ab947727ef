/** Routes of pages: each request gets the page context of its language, and its errors become pages. */
import { type HttpRequest, readFormBody } from '@portcullis/http';
import type { ServerContext } from '../context.ts';
import type { Brand } from '../ui/brand.ts';
import { createLayout, type LayoutOptions } from '../ui/layout.ts';
import { type Language, languageTags } from '../ui/texts/languages.ts';
import { isCrossSiteForm } from './csrf.ts';
import { createPageErrors, respondNotFoundPage } from './error-pages.ts';
import { languageOf } from './language.ts';
import type { InLanguage, PageRouterOf, PageRoutes } from './page-route.ts';

export function createPageRouter<Services extends Pick<ServerContext, 'events' | 'options'>>(
  services: Services,
  { texts }: Brand,
  layoutOptions: LayoutOptions,
): PageRouterOf<Services> {
  const contexts = Object.fromEntries(
    languageTags.map((language): [Language, Services & InLanguage] => {
      const layout = createLayout(layoutOptions, language, texts);
      return [language, { ...services, layout, errors: createPageErrors(services, layout) }];
    }),
  ) as Record<Language, Services & InLanguage>;
  const contextOf = (request: HttpRequest) => contexts[languageOf(request)];
  const route: PageRoutes<Services>['route'] = (method, path, handle) => ({
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
  });
  return {
    ...services,
    route,
    form: (path, handle) =>
      route('POST', path, async (context, request, connection) => {
        const form = await readFormBody(request);
        return isCrossSiteForm(request, services.options.issuer)
          ? context.errors.show(path, 'stale-form')
          : handle({ context, request, connection, form });
      }),
  };
}
