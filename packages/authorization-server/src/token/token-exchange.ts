/** The grant token exchange: a protected server shows the access token that it was sent, and gets the third party's token of that person. */
import {
  type AccessTokenClaims,
  formatScopes,
  OAuthError,
  readTokenExchangeRequest,
  type TokenExchangeResponse,
  tokenExchangeResponse,
} from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import type { IdentityProvider } from '../federation/identity-provider.ts';
import type { ProviderToken } from '../federation/provider-token.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import type { GrantHandler, GrantServices } from './grant.ts';

/**
 * For the protected server alone: a configured client that proves itself, and that the resource names in `tokenExchangeClients`. What it
 * shows MUST be an access token of ours for exactly that resource. That token goes nowhere from here.
 * @see RFC 8693 §2
 */
export function createTokenExchangeGrant(hands: GrantServices): GrantHandler {
  const { context, accessTokens, upstreamTokenFor } = hands;
  const {
    clock,
    options: { issuer, resources, identityProviders },
  } = context;
  const checkRateLimit = createRateLimitCheck(context, 'exchanges');
  return async (client, form) => {
    const own = ownResources(client);
    const request = readTokenExchangeRequest(form);
    const claims = checkSubject(request.subjectToken, own);
    const identityProvider = chooseIdentityProvider(identityProviders, request.targets);
    if (claims.grant_id !== undefined) await checkRateLimit(claims.grant_id);
    const token = await upstreamTokenFor(claims, {
      ...(identityProvider !== null && { identityProvider: identityProvider.id }),
      ...(request.scopes !== null && { scopes: request.scopes }),
    }).catch(refuseEnded);
    return respond(token, clock());
  };

  /** The resources that this client is. Saying a name proves nothing, so it has to have proven it. */
  function ownResources(client: AuthenticatedClient): readonly string[] {
    const own = [...resources.values()].filter(({ tokenExchangeClients }) =>
      tokenExchangeClients?.includes(client.id),
    );
    if (client.authenticationMethod !== 'none' && own.length > 0) return own.map(({ resource }) => resource);
    throw new OAuthError('unauthorized_client', 'Token exchange is for protected servers only.', {
      reason: 'no resource names it in tokenExchangeClients',
    });
  }

  /** If the subject token is invalid for any reason, the error MUST be `invalid_request`. @see RFC 8693 §2.2.2 */
  function checkSubject(token: string, own: readonly string[]): AccessTokenClaims {
    const claims: (AccessTokenClaims & { readonly cnf?: unknown }) | null = accessTokens.read(token);
    if (claims === null || claims.iss !== issuer) throw invalidSubject('not one of ours');
    if (claims.exp <= clock()) throw invalidSubject('expired');
    if (typeof claims.aud !== 'string' || !own.includes(claims.aud)) {
      throw invalidSubject('for another resource');
    }
    // It came here without its proof: whoever sends it on may have found it.
    if (claims.cnf !== undefined) throw invalidSubject('bound to a key');
    return claims;
  }
}

/** A request may call the place by its identifier here or by its issuer, and several names MUST mean the same. */
function chooseIdentityProvider(
  identityProviders: ReadonlyMap<string, IdentityProvider>,
  targets: readonly string[],
): IdentityProvider | null {
  const chosen = new Set(
    targets.map((name) => {
      const byIssuer = [...identityProviders.values()].find(({ provider }) => provider.issuer === name);
      const named = identityProviders.get(name) ?? byIssuer;
      if (named === undefined) throw new OAuthError('invalid_target', 'No third party here is called so.');
      return named;
    }),
  );
  const [first = null] = chosen;
  if (chosen.size > 1)
    throw new OAuthError('invalid_target', 'Ask for a token of one third party at a time.');
  return first;
}

/** Nobody may keep the answer: the endpoint says `no-store` with every one. Times are told from now, as always. */
function respond(token: ProviderToken, now: number): TokenExchangeResponse {
  const { accessToken, tokenType, expiresAt, scopes } = token;
  return tokenExchangeResponse({
    access_token: accessToken,
    token_type: tokenType,
    ...(expiresAt !== null && { expires_in: Math.max(0, expiresAt - now) }),
    ...(scopes.length > 0 && { scope: formatScopes(scopes) }),
  });
}

/** What rests on a grant that has ended is no subject any more. */
function refuseEnded(error: unknown): never {
  if (error instanceof OAuthError && error.code === 'invalid_grant') {
    throw invalidSubject(error.reason ?? 'its grant has ended');
  }
  throw error;
}

function invalidSubject(reason: string): OAuthError {
  return new OAuthError(
    'invalid_request',
    'The subject_token must be an access token of this server for your resource that is still valid.',
    { reason: `subject token: ${reason}` },
  );
}
