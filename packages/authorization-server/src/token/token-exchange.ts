/** The token exchange grant: a protected resource exchanges the access token it received for the user's provider token. */
import {
  type AccessTokenClaims,
  formatScopes,
  isCodeChallenge,
  matchResource,
  OAuthError,
  readTokenExchangeRequest,
  TOKEN_TYPES,
  type TokenExchangeRequest,
  type TokenExchangeResponse,
  tokenExchangeResponse,
} from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import type { IdentityProvider } from '../federation/provider/identity-provider.ts';
import type { ProviderToken } from '../federation/provider-tokens.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { createDelegate } from './delegate.ts';
import type { GrantHandler, GrantServices } from './grant-handler.ts';
import { createIssueIdJag } from './issue-id-jag.ts';

/**
 * For protected resources only: an authenticated, configured client that the resource names in `tokenExchangeClients`. The subject
 * token MUST be an access token of this server with exactly that resource as its audience. It is never forwarded.
 * @see RFC 8693 §2
 */
export function createTokenExchangeGrant(services: GrantServices): GrantHandler {
  const { context, accessTokens, getProviderToken } = services;
  const { clock } = context;
  const { issuer, resources, identityProviders } = context.options;
  const checkRateLimit = createRateLimitCheck(context, 'exchanges');
  const delegate = createDelegate(services);
  const issueIdJag = createIssueIdJag(services);
  return async (client, form, _connection, proof) => {
    if (form.one('requested_token_type') === TOKEN_TYPES.idJag) return issueIdJag(client, form, proof);
    const own = ownResources(client);
    const request = withConfiguredResources(readTokenExchangeRequest(form));
    const claims = checkSubjectToken(request.subjectToken, own);
    const isOwn = request.targets.some((target) => resources.has(target));
    const identityProvider = isOwn ? null : chooseIdentityProvider(identityProviders, request.targets);
    if (claims.grant_id !== undefined) await checkRateLimit(claims.grant_id);
    if (isOwn) return delegate(client, claims, request, proof);
    // Point of no return: the proof is used, although it binds no token of a provider.
    await proof?.consume();
    const token = await getProviderToken(claims, {
      ...(identityProvider !== null && { identityProvider: identityProvider.id }),
      ...(request.scopes !== null && { scopes: request.scopes }),
    }).catch(rejectEndedGrant);
    return tokenResponse(token, clock());
  };

  /** A target that names a resource of this server becomes its canonical URI. @see RFC 8707 §2 */
  function withConfiguredResources(request: TokenExchangeRequest): TokenExchangeRequest {
    const served = [...resources.keys()];
    return { ...request, targets: request.targets.map((target) => matchResource(served, target) ?? target) };
  }

  /** The resources that this client represents. A client id alone proves nothing, so the client must have authenticated. */
  function ownResources(client: AuthenticatedClient): readonly string[] {
    const own = [...resources.values()].filter(({ tokenExchangeClients }) =>
      tokenExchangeClients?.includes(client.id),
    );
    if (client.authenticationMethod !== 'none' && own.length > 0) return own.map(({ resource }) => resource);
    throw new OAuthError('unauthorized_client', 'Token exchange is for protected resources only.', {
      reason: 'no resource names it in tokenExchangeClients',
    });
  }

  /** If the subject token is invalid for any reason, the error MUST be `invalid_request`. Includes the audience check. @see RFC 8693 §2.2.2 */
  function checkSubjectToken(token: string, own: readonly string[]): AccessTokenClaims {
    const claims: (AccessTokenClaims & { readonly cnf?: unknown }) | null = accessTokens.read(token);
    if (claims === null || claims.iss !== issuer) throw invalidSubject('not issued by this server');
    if (claims.exp <= clock()) throw invalidSubject('expired');
    if (typeof claims.aud !== 'string' || !own.includes(claims.aud)) {
      throw invalidSubject('audience is another resource');
    }
    if (!isVerifiableBinding(claims.cnf))
      throw invalidSubject('bound in a way that its audience cannot check');
    return claims;
  }
}

/**
 * Whether the token is a bearer token or bound to a DPoP key alone: then its audience, the authenticated client that sends it, has
 * checked the proof of possession. A thief of the token is neither.
 */
function isVerifiableBinding(cnf: unknown): boolean {
  if (cnf === undefined) return true;
  const members = Object.entries(cnf ?? {});
  return (
    members.length === 1 && members.every(([name, value]) => name === 'jkt' && isCodeChallenge(String(value)))
  );
}

/** A request may name the identity provider by its id or its issuer; several names MUST mean the same provider. */
function chooseIdentityProvider(
  identityProviders: ReadonlyMap<string, IdentityProvider>,
  targets: readonly string[],
): IdentityProvider | null {
  const chosen = new Set(
    targets.map((name) => {
      const byIssuer = [...identityProviders.values()].find(({ provider }) => provider.issuer === name);
      const named = identityProviders.get(name) ?? byIssuer;
      if (named === undefined)
        throw new OAuthError('invalid_target', 'Unknown resource or identity provider.');
      return named;
    }),
  );
  const [first = null] = chosen;
  if (chosen.size > 1)
    throw new OAuthError('invalid_target', 'Request the token of one identity provider at a time.');
  return first;
}

/** The endpoint sends every response with `no-store`. */
function tokenResponse(token: ProviderToken, now: number): TokenExchangeResponse {
  const { accessToken, tokenType, expiresAt, scopes } = token;
  return tokenExchangeResponse({
    access_token: accessToken,
    token_type: tokenType,
    ...(expiresAt !== null && { expires_in: Math.max(0, expiresAt - now) }),
    ...(scopes.length > 0 && { scope: formatScopes(scopes) }),
  });
}

/** A token of an ended grant is an invalid subject token. */
function rejectEndedGrant(error: unknown): never {
  if (error instanceof OAuthError && error.code === 'invalid_grant') {
    throw invalidSubject(error.reason ?? 'grant ended');
  }
  throw error;
}

function invalidSubject(reason: string): OAuthError {
  return new OAuthError(
    'invalid_request',
    'The subject_token must be a valid access token of this server for your resource.',
    { reason: `subject token: ${reason}` },
  );
}
