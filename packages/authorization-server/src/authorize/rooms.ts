/** What the endpoints of the interaction share. */

import type { FindClient } from '../clients/find-client.ts';
import type { Configuration } from '../configuration.ts';
import type { Cookie } from '../cookies.ts';
import type { Federation } from '../federation/federation.ts';
import type { ChargeAuthorizationRequest } from '../rate-limit/openings.ts';
import type { Layout } from '../ui/layout.ts';
import type { Sessions } from '../users/sessions.ts';
import type { FormTokens } from './form-tokens.ts';
import type { HandOver } from './hand-over.ts';
import type { PageEdge } from './page-edge.ts';

export interface Rooms {
  readonly configuration: Configuration;
  readonly findClient: FindClient;
  readonly sessions: Sessions;
  readonly formTokens: FormTokens;
  /** Binds transactions to the browser that began them. */
  readonly browser: Cookie;
  /** Holds back networks whose strangers begin too much. */
  readonly chargeAuthorizationRequest: ChargeAuthorizationRequest;
  /** Third parties by which people sign in, and on which grants rest. */
  readonly upstream: Federation;
  /** The ways to the operator's own application. */
  readonly handOver: HandOver;
  readonly layout: Layout;
  readonly edge: PageEdge;
}
