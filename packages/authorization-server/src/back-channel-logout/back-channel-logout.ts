/** Back-channel logout: an identity provider reports that a user has logged out there, and ends what was signed in through it. */
import { readFormBody, respond } from '@portcullis/http';
import { createIssuerKeys } from '../assertions/issuer-keys.ts';
import { endUserAccess } from '../federation/end-user-access.ts';
import type { FederationContext } from '../federation/provider/identity-provider.ts';
import type { Route } from '../http/router.ts';
import { verifyLogoutToken } from './logout-token.ts';

/**
 * One endpoint for each provider that has `backChannelLogout`. A logout token ends only what is older than itself: a repeated one
 * never ends a later session, and needs no record of used tokens.
 * @see OpenID Connect Back-Channel Logout 1.0 §2.5 to §2.8
 */
export function createBackChannelLogout(context: FederationContext): readonly Route[] {
  const findKeys = createIssuerKeys(context);
  return [...context.options.identityProviders.values()].flatMap((identityProvider) => {
    const { id, clientId, provider, backChannelLogout } = identityProvider;
    if (backChannelLogout === null) return [];
    return {
      method: 'POST' as const,
      path: `/back-channel-logout/${id}`,
      async handle(request) {
        const token = (await readFormBody(request)).required('logout_token');
        const rules = { issuer: provider.issuer, audience: clientId, now: context.clock() };
        const { subject, sessionId, issuedAt } = await verifyLogoutToken(token, rules, findKeys);
        const linked =
          subject === null ? null : await context.store.findLinkedIdentity(provider.issuer, subject);
        const end = { accountId: linked?.accountId ?? null, sessionId, reportedAt: issuedAt };
        await endUserAccess(context, identityProvider, end, backChannelLogout);
        return respond(200, { 'cache-control': 'no-store' });
      },
    } satisfies Route;
  });
}
