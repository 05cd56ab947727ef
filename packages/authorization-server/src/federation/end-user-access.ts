/** Ends what a user has here because the identity provider reports it: browser sessions, or grants and their tokens as well. */
import { listAllGrants } from '../users/administer-connections.ts';
import { providerSessionHash } from '../users/sessions.ts';
import type { FederationContext, IdentityProvider } from './provider/identity-provider.ts';
import { CLOCK_TOLERANCE } from './provider/transport.ts';

/** What ends. */
export type EndedAccess = 'sessions' | 'everything';

/** What an identity provider reported. */
export interface ReportedEnd {
  /** The account of the user; `null`: only the session is named, or the user is not known here. */
  readonly accountId: string | null;
  /** The identifier of the session at the provider; `null`: all sessions of the user. */
  readonly sessionId: string | null;
  /** Epoch seconds of the report: only what is older, or of a clock that was ahead, ends: a repeated report ends no later session. */
  readonly reportedAt: number;
}

export async function endUserAccess(
  context: FederationContext,
  { id, provider: { issuer } }: IdentityProvider,
  { accountId, sessionId, reportedAt }: ReportedEnd,
  what: EndedAccess,
): Promise<void> {
  const { store, events, clock } = context;
  const before = reportedAt + CLOCK_TOLERANCE;
  const now = clock();
  // Point of no return: the sessions are gone.
  const ended = await store.endProviderSessions({
    accountId,
    providerSession: sessionId === null ? null : providerSessionHash(issuer, sessionId),
    before,
    now,
  });
  const accounts = new Map<string, number>();
  for (const one of ended) accounts.set(one, (accounts.get(one) ?? 0) + 1);
  for (const [one, count] of accounts)
    events({ type: 'session.ended', accountId: one, count, identityProvider: id });
  if (what !== 'everything') return;
  const owners = new Set([...(accountId === null ? [] : [accountId]), ...accounts.keys()]);
  for (const owner of owners) {
    const count = await revokeGrants(context, owner, before, now);
    if (count > 0) events({ type: 'grant.revoked', accountId: owner, count, identityProvider: id });
  }
}

/**
 * A grant of a clock that was ahead is older than it seems: it is no later one.
 * Of grants that are all older, codes that are not redeemed yet end as well. @returns how many grants
 */
async function revokeGrants(
  { store }: FederationContext,
  accountId: string,
  before: number,
  now: number,
): Promise<number> {
  const grants = await listAllGrants(store, accountId, now);
  const older = grants.filter(({ createdAt }) => createdAt <= before || createdAt > now);
  if (older.length === grants.length) return store.revokeAccountGrants(accountId, null, now);
  let count = 0;
  for (const { id } of older) count += await store.revokeAccountGrants(accountId, id, now);
  return count;
}
