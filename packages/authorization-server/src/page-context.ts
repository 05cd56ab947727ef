/** What the endpoints of the interaction share. */

import type { FindClient } from './clients/find-client.ts';
import type { ServerContext } from './context.ts';
import type { ExternalUi } from './external-ui.ts';
import type { Federation } from './federation/federation.ts';
import type { Cookie } from './http/cookies.ts';
import type { CsrfTokens } from './http/csrf.ts';
import type { PageErrors } from './http/error-pages.ts';
import type { RateLimitCheck } from './rate-limit/limiter.ts';
import type { Layout } from './ui/layout.ts';
import type { Sessions } from './users/sessions.ts';

export interface PageContext extends ServerContext {
  readonly findClient: FindClient;
  readonly sessions: Sessions;
  readonly csrfTokens: CsrfTokens;
  /** Binds transactions to the browser that began them. */
  readonly transactionCookie: Cookie;
  /** Holds back networks whose strangers begin too much. */
  readonly chargeAuthorizationRequest: RateLimitCheck;
  /** Third parties by which people sign in, and on which grants rest. */
  readonly federation: Federation;
  /** The ways to the operator's own application. */
  readonly externalUi: ExternalUi;
  readonly layout: Layout;
  readonly errors: PageErrors;
}
