/** The port by which authorization asks for accounts that a grant needs elsewhere: without the feature behind it, none. */
import type { HttpResponse } from '@portcullis/http';
import type { Scopes } from '@portcullis/protocol';
import { newIdentifier } from '../secrets.ts';
import type { AuthorizationTransactionRecord } from '../store/index.ts';
import type { ConsentDecision } from './next-step.ts';

/** A transaction whose user has decided. */
export interface DecidedTransaction {
  readonly record: AuthorizationTransactionRecord;
  readonly accountId: string;
  readonly decision: ConsentDecision;
  /** The grant that its provider tokens belong to; `null`: it has none. */
  readonly linkedGrantId: string | null;
}

export interface GrantConnections {
  /** What the user connects for a resource after the consent, which names it. */
  neededFor(resource: string): readonly { readonly name: string; readonly host: string }[];
  /**
   * Redirects to what the user connects next, or names the grant that the code will create.
   * @param cookies `Set-Cookie` values that a redirect must carry
   */
  prepareGrant(
    transaction: DecidedTransaction,
    cookies: readonly string[],
  ): Promise<HttpResponse | { readonly grantId: string }>;
  /** What a grant has connected, for the page that lists it. */
  listConnected(grantId: string): Promise<readonly { readonly name: string; readonly scopes: Scopes }[]>;
}

export const noConnections: GrantConnections = {
  neededFor: () => [],
  prepareGrant: async ({ linkedGrantId }) => ({ grantId: linkedGrantId ?? newIdentifier('grant') }),
  listConnected: async () => [],
};
