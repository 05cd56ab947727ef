/** An authorization request under way, with everything about it that was proven. */
import type { RedirectTarget, Scopes } from '@portcullis/protocol';
import type { ResolvedClient } from '../clients/client.ts';
import type { IdentityProvider } from '../federation/identity-provider.ts';
import type { AuthorizationTransactionRecord } from '../store/index.ts';
import type { User } from '../users/sessions.ts';

/** A transaction with everything about it that was proven. */
export interface AuthorizationTransaction {
  readonly record: AuthorizationTransactionRecord;
  readonly client: ResolvedClient;
  readonly target: RedirectTarget;
  /** By whom the person signs in; `null`: here. */
  readonly identityProvider: IdentityProvider | null;
  /** The account that acts in it; `null` while nobody is signed in for it. */
  readonly accountId: string | null;
  /** What that person allowed; `null` until then. */
  readonly decision: ConsentDecision | null;
}

export interface ConsentDecision {
  readonly scopes: Scopes;
  readonly workspace: string | null;
  /** Whether the person said so now, or by a grant that stands: then no page is needed, and no transaction was opened. */
  readonly by: 'answer' | 'memory';
}

/** A flow under way in the browser that sent the request. */
export interface BrowserTransaction extends AuthorizationTransaction {
  /** Who is signed in in this browser, whether or not for this flow. */
  readonly user: User | null;
  /** What forms of this flow in this browser are bound to. */
  readonly csrfBinding: readonly string[];
}
