/** What page endpoints are given: their slice's services, and the pages in the language of the request. */
import type { ConnectionInfo, HttpRequest, HttpResponse } from '@portcullis/http';
import type { Parameters } from '@portcullis/protocol';
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

/** A posted form of this site. */
export interface PostedForm<Services> {
  readonly context: Services & InLanguage;
  readonly request: HttpRequest;
  readonly connection: ConnectionInfo;
  readonly form: Parameters;
}

/** Defines the routes of pages. */
export interface PageRoutes<Services> {
  route(method: Route['method'], path: string, handle: PageHandler<Services>): Route;
  /** The route of a form. One that another site sent is rejected; the handler checks the CSRF token. */
  form(path: string, handle: (posted: PostedForm<Services>) => Promise<HttpResponse>): Route;
}

/** Services, and what defines the routes of their pages. */
export type PageRouterOf<Services> = Services & PageRoutes<Services>;
