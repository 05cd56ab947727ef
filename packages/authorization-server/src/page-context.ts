/** What page endpoints share: services, and per request the layout and the error pages in its language. */
import type { ConnectionInfo, HttpRequest, HttpResponse } from '@portcullis/http';
import type { GrantConnections } from './authorization/grant-connections.ts';
import type { PushedRequests } from './authorization/pushed-request.ts';
import type { ReadRequestObject } from './authorization/request-object.ts';
import type { FindClient } from './clients/find-client.ts';
import type { ServerContext } from './context.ts';
import type { Encryptor } from './encryption/encryptor.ts';
import type { Federation } from './federation/federation.ts';
import type { BrowserCookies } from './http/browser-cookies.ts';
import type { CsrfTokens } from './http/csrf.ts';
import type { PageErrors } from './http/error-pages.ts';
import type { Route } from './http/router.ts';
import type { RateLimitCheck } from './rate-limit/limiter.ts';
import type { SiteQuota } from './rate-limit/site-quota.ts';
import type { Layout } from './ui/layout.ts';
import type { Sessions } from './users/sessions.ts';

/** The services of page endpoints, the same for every request. */
export interface PageServices extends ServerContext {
  readonly findClient: FindClient;
  readonly sessions: Sessions;
  readonly csrfTokens: CsrfTokens;
  /** Encrypts under the master key. */
  readonly encryptor: Encryptor;
  /** Binds an authorization transaction to the browser that opened it. */
  readonly browserCookies: BrowserCookies;
  /** Rate limit of authorization requests and federated logins. */
  readonly chargeAuthorizationRequest: RateLimitCheck;
  /** The quota of open transactions without a signed-in user; `null`: rate limits are disabled. */
  readonly transactionQuota: SiteQuota | null;
  readonly federation: Federation;
  /** Accounts elsewhere that grants need. */
  readonly connections: GrantConnections;
  readonly pushedRequests: PushedRequests;
  readonly readRequestObject: ReadRequestObject;
}

/** The services and the pages in the language of one request. */
export interface PageContext extends PageServices {
  readonly layout: Layout;
  readonly errors: PageErrors;
}

/** Handles a page request. An error that it throws becomes an error page. */
type PageHandler = (
  context: PageContext,
  request: HttpRequest,
  connection: ConnectionInfo,
) => Promise<HttpResponse>;

/** Defines the routes of pages. */
export interface PageRouter extends PageServices {
  route(method: Route['method'], path: string, handle: PageHandler): Route;
}
