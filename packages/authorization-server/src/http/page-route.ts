/** What page endpoints are given: their slice's services, and the pages in the language of the request. */
import type { ConnectionInfo, HttpRequest, HttpResponse } from '@portcullis/http';
import type { Layout } from '../ui/layout.ts';
import type { PageErrors } from './error-pages.ts';
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
