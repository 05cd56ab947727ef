/** Connects the backends that a grant needs, between consent and code: each is a redirect to its authorization server and back. */
import type { HttpResponse } from '@portcullis/http';
import type { UserBackend } from '../federation/provider/backend.ts';
import type { PageContext } from '../page-context.ts';
import { newIdentifier } from '../secrets.ts';
import type { ConsentDecision } from './next-step.ts';
import type { AuthorizationTransaction } from './transactions.ts';

/** Backends at which users connect an account for a resource. */
export function backendsOf(
  { options }: Pick<PageContext, 'options'>,
  resource: string,
): readonly UserBackend[] {
  return options.backends?.of(resource) ?? [];
}

export interface TransactionGrant {
  /** The grant that the code will create. */
  readonly grantId: string;
  /** Backends whose account the user has not connected in this transaction. */
  readonly missing: readonly UserBackend[];
}

/**
 * The grant of a transaction. Tokens that this very user has connected in it belong to it; those of another user, who was
 * signed in before, do not.
 */
export async function resolveGrant(
  context: PageContext,
  { record, identityProvider }: AuthorizationTransaction,
  accountId: string,
): Promise<TransactionGrant> {
  const { linkedGrantId, resources } = record;
  const backends = resources.flatMap((resource) => backendsOf(context, resource));
  const connected =
    linkedGrantId === null || backends.length === 0
      ? []
      : await context.store.listBackendTokens(linkedGrantId);
  const areOwn = connected.every((tokens) => tokens.accountId === accountId);
  const isLinked = identityProvider !== null || (connected.length > 0 && areOwn);
  if (linkedGrantId === null || !isLinked || !areOwn) {
    return { grantId: newIdentifier('grant'), missing: backends };
  }
  const ids = connected.map(({ identityProvider: backend }) => backend);
  return { grantId: linkedGrantId, missing: backends.filter(({ id }) => !ids.includes(id)) };
}

/**
 * Redirects to the first backend that is missing. `null`: there is none, or it is unavailable. The user connects it later,
 * by a link of the gateway.
 */
export async function redirectToBackend(
  context: PageContext,
  { record, client, skippedBackends: skipped = [] }: AuthorizationTransaction,
  { grantId, missing }: TransactionGrant,
  { accountId, decision }: { readonly accountId: string; readonly decision: ConsentDecision },
  cookies: readonly string[],
): Promise<HttpResponse | null> {
  for (const backend of missing.filter(({ id }) => !skipped.includes(id))) {
    const { scopes: approvedScopes, workspace } = decision;
    const started = await context.federation.backends.logins.start(
      backend,
      {
        grantId,
        clientId: client.id,
        accountId,
        scopes: [],
        link: null,
        transaction: { id: record.id, approvedScopes, workspace, skipped },
        until: record.expiresAt,
      },
      cookies,
    );
    if (!('error' in started)) return started;
  }
  return null;
}
