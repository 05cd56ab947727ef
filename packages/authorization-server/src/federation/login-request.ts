/** Leaving for a third party: everything that must come back is noted before the browser goes, and bound to that browser. */

import type { HttpRequest, HttpResponse } from '@portcullis/http';
import type { Scopes } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { type Cookie, defineCookie } from '../http/cookies.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { hashSecret, matchesSecret, newSecret } from '../secrets.ts';
import type { FederatedLoginRecord } from '../store/index.ts';
import { respondRedirect } from '../ui/respond-page.ts';
import type { IdentityProvider } from './identity-provider.ts';
import type { FederatedLoginSecrets, ProviderClient } from './provider-client.ts';
import { IdentityProviderError, toIdentityProviderError } from './provider-error.ts';
import type { TokenVault } from './token-vault.ts';

/** What somebody leaves for, and comes back to. */
export interface FederatedLoginRequest {
  /** A transaction, or else a page of their own account. */
  readonly transactionId: string | null;
  readonly returnTo: string | null;
  /** Who is signed in here; `null` when nobody is. */
  readonly accountId: string | null;
  /** What they allowed. */
  readonly approvedScopes: Scopes;
  readonly workspace: string | null;
  /** Whether they have to show anew who they are, signed in there or not. */
  readonly isFresh: boolean;
  /** Epoch seconds after which nobody waits for them any more. */
  readonly until: number;
}

export interface FederatedLogins {
  /**
   * Sends the browser to a third party, with state, PKCE and nonce of their own and a cookie that is set only now. When the third
   * party cannot be found, nothing is kept, and the answer is what is wrong with it.
   * @throws OAuthError `temporarily_unavailable` when somebody leaves too often
   */
  start(
    identityProvider: IdentityProvider,
    loginTarget: FederatedLoginRequest,
    cookies?: readonly string[],
  ): Promise<HttpResponse | { readonly issue: IdentityProviderError }>;
  /** The departure that a `state` stands for, and whether this browser made it. */
  find(request: HttpRequest, identityProvider: IdentityProvider, state: string): Promise<FoundDeparture>;
  /** Takes it, once. */
  consume(departure: FederatedLoginRecord): Promise<FederatedLoginSecrets | null>;
  /** The `Set-Cookie` value by which the browser forgets it. */
  clearCookie(departure: FederatedLoginRecord): string;
}

type FoundDeparture = FederatedLoginRecord | 'unknown' | 'no-cookie' | 'other-browser';

/** Seconds for which somebody is expected back. Servers keep state for about ten minutes. @see MCP security best practices */
const PATIENCE = 600;

export function createFederatedLogins(
  context: ServerContext,
  vault: TokenVault,
  wireOf: (identityProvider: IdentityProvider) => ProviderClient,
): FederatedLogins {
  const {
    store,
    clock,
    events,
    options: { issuer },
  } = context;
  const checkRateLimit = createRateLimitCheck(context, 'federatedLogins');
  /** Several tabs may be on the way at once, so each departure has a cookie of its own. */
  const cookieOf = (stateHash: string): Cookie => defineCookie(issuer, `departure-${stateHash.slice(0, 8)}`);
  return {
    async start(identityProvider, { until, isFresh, ...loginTarget }, cookies = []) {
      // A federated login without either has been counted by network already.
      await checkRateLimit(loginTarget.accountId ?? loginTarget.transactionId);
      const [state, browser] = [newSecret(), newSecret()];
      const secrets: FederatedLoginSecrets = { verifier: newSecret(), nonce: newSecret() };
      const location = await wireOf(identityProvider)
        .authorizationUrl(loginTarget.approvedScopes, isFresh, state, secrets)
        .catch(toIdentityProviderError);
      if (location instanceof IdentityProviderError) {
        events({
          type: 'identity_provider.failed',
          identityProvider: identityProvider.id,
          reason: location.message,
        });
        return { issue: location };
      }
      const stateHash = hashSecret(state);
      const { envelope } = await vault.encrypt(secrets, placeOf(stateHash));
      const now = clock();
      const expiresAt = Math.min(now + PATIENCE, until);
      await store.saveFederatedLogin({
        ...loginTarget,
        stateHash,
        browserHash: hashSecret(browser),
        identityProvider: identityProvider.id,
        encryptedSecrets: envelope,
        expiresAt,
      });
      events({
        type: 'federated_login.started',
        identityProvider: identityProvider.id,
        ...(loginTarget.transactionId !== null && { transactionId: loginTarget.transactionId }),
      });
      return respondRedirect(location, [...cookies, cookieOf(stateHash).write(browser, expiresAt - now)]);
    },
    async find(request, identityProvider, state) {
      const departure = await store.findFederatedLogin(hashSecret(state), clock());
      // An answer at the address of another third party MUST NOT be taken for this one's. @see RFC 9700 §4.4.2.2
      if (departure === null || departure.identityProvider !== identityProvider.id) return 'unknown';
      const cookie = cookieOf(departure.stateHash).read(request);
      if (cookie === null) return 'no-cookie';
      return matchesSecret(cookie, departure.browserHash) ? departure : 'other-browser';
    },
    async consume({ stateHash, encryptedSecrets }) {
      const secrets = await vault.decrypt<FederatedLoginSecrets>(encryptedSecrets, placeOf(stateHash));
      // Point of no return: the state is spent.
      return (await store.consumeFederatedLogin(stateHash, clock())) ? secrets : null;
    },
    clearCookie: ({ stateHash }) => cookieOf(stateHash).clear(),
  };
}

function placeOf(stateHash: string): string {
  return `departure ${stateHash}`;
}
