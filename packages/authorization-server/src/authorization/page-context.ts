/** What page endpoints share: services, and per request the layout and the error pages in its language. */
import type { FindClient } from '../clients/find-client.ts';
import type { ClientPolicyOptions } from '../clients/options.ts';
import type { ServerContext } from '../context.ts';
import type { Federation } from '../federation/federation.ts';
import type { FederationOptions } from '../federation/provider/identity-provider.ts';
import type { BrowserCookies } from '../http/browser-cookies.ts';
import type { CsrfTokens } from '../http/csrf.ts';
import type { InLanguage, PageRouterOf } from '../http/page-route.ts';
import type { RateLimitCheck } from '../rate-limit/limiter.ts';
import type { SiteQuota } from '../rate-limit/site-quota.ts';
import type { CheckedResourceOptions } from '../resources/options.ts';
import type { UserOptions } from '../users/options.ts';
import type { Sessions } from '../users/sessions.ts';
import type { GrantConnections } from './grant-connections.ts';
import type { AuthorizationOptions } from './options.ts';
import type { PushedRequests } from './pushed-request.ts';
import type { ReadRequestObject } from './request-object.ts';

/** The options that authorization requests and their pages read. */
export interface PipelineOptions
  extends AuthorizationOptions,
    ClientPolicyOptions,
    FederationOptions,
    CheckedResourceOptions,
    UserOptions {
  /** Whether a rule of a gateway needs approvals of calls. */
  readonly approvals: boolean;
  /** Whether mail is sent for audit events. */
  readonly sendsMail: boolean;
  /** Whether users can sign in by a link in a mail. */
  readonly signInLinks: boolean;
}

/** The services of page endpoints, the same for every request. A slice adds the options that it reads. */
export interface PageServices<Options = unknown> extends ServerContext<PipelineOptions & Options> {
  readonly findClient: FindClient;
  readonly sessions: Sessions;
  readonly csrfTokens: CsrfTokens;
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
export interface PageContext<Options = unknown> extends PageServices<Options>, InLanguage {}

/** The services, and `route`, which defines the routes of pages. */
export type PageRouter<Options = unknown> = PageRouterOf<PageServices<Options>>;

export type AuthorizationContext = ServerContext<PipelineOptions>;
