/** Back-channel logout: an identity provider reports that a user has logged out there, and ends what was signed in through it. */
import { readFormBody, respond } from '@portcullis/http';
import { createIssuerKeys } from '../assertions/issuer-keys.ts';
import type { FederationContext, IdentityProvider } from '../federation/provider/identity-provider.ts';
import { CLOCK_TOLERANCE } from '../federation/provider/transport.ts';
import type { Route } from '../http/router.ts';
import { listAllGrants } from '../users/administer-connections.ts';
import { providerSessionHash } from '../users/sessions.ts';
import { type LogoutToken, verifyLogoutToken } from './logout-token.ts';

/**
 * One endpoint for each provider that has `backChannelLogout`. A logout token ends only what is older than itself: a repeated one
 * never ends a later session, and needs no record of used tokens.
 * @see OpenID Connect Back-Channel Logout 1.0 §2.5 to §2.8
 */
export function createBackChannelLogout(context: FederationContext): readonly Route[] {
  const findKeys = createIssuerKeys(context);
  const providers = [...context.options.identityProviders.values()];
  return providers
    .filter(({ backChannelLogout }) => backChannelLogout !== null)
    .map((identityProvider) => ({
      method: 'POST',
      path: `/back-channel-logout/${identityProvider.id}`,
      async handle(request) {
        const token = (await readFormBody(request)).required('logout_token');
        const { provider, clientId } = identityProvider;
        const rules = { issuer: provider.issuer, audience: clientId, now: context.clock() };
        await logOut(context, identityProvider, await verifyLogoutToken(token, rules, findKeys));
        return respond(200, { 'cache-control': 'no-store' });
      },
    }));
}

async function logOut(
  context: FederationContext,
  { id, provider: { issuer }, backChannelLogout }: IdentityProvider,
  { subject, sessionId, issuedAt }: LogoutToken,
): Promise<void> {
  const { store, events } = context;
  const linked = subject === null ? null : await store.findLinkedIdentity(issuer, subject);
  const before = issuedAt + CLOCK_TOLERANCE;
  // Point of no return: the sessions are gone.
  const ended = await store.endProviderSessions({
    accountId: linked?.accountId ?? null,
    providerSession: sessionId === null ? null : providerSessionHash(issuer, sessionId),
    before,
  });
  const accounts = new Map<string, number>();
  for (const accountId of ended) accounts.set(accountId, (accounts.get(accountId) ?? 0) + 1);
  for (const [accountId, count] of accounts)
    events({ type: 'session.ended', accountId, count, identityProvider: id });
  if (backChannelLogout !== 'everything') return;
  const owners = new Set([...(linked === null ? [] : [linked.accountId]), ...accounts.keys()]);
  for (const accountId of owners) {
    const count = await revokeGrants(context, accountId, before);
    if (count > 0) events({ type: 'grant.revoked', accountId, count, identityProvider: id });
  }
}

/** Of grants that are all older, codes that are not redeemed yet end as well. @returns how many grants */
async function revokeGrants(
  { store, clock }: FederationContext,
  accountId: string,
  before: number,
): Promise<number> {
  const now = clock();
  const grants = await listAllGrants(store, accountId, now);
  const older = grants.filter(({ createdAt }) => createdAt <= before);
  if (older.length === grants.length) return store.revokeAccountGrants(accountId, null, now);
  const counts = await Promise.all(older.map(({ id }) => store.revokeAccountGrants(accountId, id, now)));
  return counts.reduce((sum, count) => sum + count, 0);
}
