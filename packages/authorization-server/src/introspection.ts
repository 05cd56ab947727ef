/** The introspection endpoint: returns to resource servers and clients whether a token is active, and its claims. */
import { readFormBody, respondCorsJson } from '@portcullis/http';
import { type AccessTokenClaims, formatScopes, OAuthError } from '@portcullis/protocol';
import type { AuthenticateClient } from './clients/authenticate-client.ts';
import type { AuthenticatedClient } from './clients/verify-client-credentials.ts';
import type { Route } from './http/router.ts';
import type { AccessTokenFormat } from './keys/access-token-format.ts';
import { isOpaqueToken } from './keys/opaque-tokens.ts';
import type { ReadPersonalAccessToken } from './personal-access-tokens/personal-access-tokens.ts';
import type { IsLive } from './token/is-live.ts';
import type { TokenContext } from './token/options.ts';
import {
  type FoundRefreshToken,
  type RefreshTokens,
  refreshTokenIssue,
} from './token/refresh-token-family.ts';

/** The response for a token that is not active, or that the caller may not introspect. @see RFC 7662 §2.2 */
const INACTIVE = { active: false } as const;

/**
 * Only confidential clients may introspect: tokens issued to themselves, and access tokens whose audience is a resource that names
 * the client in `introspectionClients`.
 * @see RFC 7662 §2
 */
export function createIntrospection(
  context: TokenContext,
  { read }: AccessTokenFormat,
  authenticate: AuthenticateClient,
  isLive: IsLive,
  refreshTokens: RefreshTokens,
  readPersonalAccessToken: ReadPersonalAccessToken | null,
): Route {
  const { clock } = context;
  const { issuer, resources } = context.options;
  const isHttps = issuer.startsWith('https:');
  return {
    method: 'POST',
    path: '/introspect',
    crossOrigin: true,
    async handle(request, connection) {
      const form = await readFormBody(request);
      const caller = checkConfidential(await authenticate(request, form, connection));
      const token = form.required('token');
      const personal = readPersonalAccessToken === null ? null : await readPersonalAccessToken(token);
      const claims = personal ?? (token.includes('.') ? read(token) : undefined);
      const response =
        claims === undefined
          ? await describeRefreshToken(token, caller.id)
          : await describeAccessToken(claims, isOpaqueToken(token), caller.id);
      return respondCorsJson(response, { isHttps });
    },
  };

  async function describeAccessToken(
    claims: AccessTokenClaims | null,
    isOpaque: boolean,
    callerId: string,
  ): Promise<object> {
    if (claims === null || claims.iss !== issuer || claims.exp <= clock()) return INACTIVE;
    const isForResource = isResourceAudience(claims.aud, callerId);
    if (claims.client_id !== callerId && !isForResource) return INACTIVE;
    if (!(await isLive(claims, true))) return INACTIVE;
    const members = isForResource || !isOpaque ? claims : withoutUser(claims);
    return { active: true, token_type: claims.cnf === undefined ? 'Bearer' : 'DPoP', ...members };
  }

  /** Audience check: whether the caller represents the resource that the token is for. */
  function isResourceAudience(audience: AccessTokenClaims['aud'], callerId: string): boolean {
    const resource = typeof audience === 'string' ? resources.get(audience) : undefined;
    return resource?.introspectionClients?.includes(callerId) === true;
  }

  async function describeRefreshToken(token: string, callerId: string): Promise<object> {
    const found = await refreshTokens.find(token);
    if (found?.grant.clientId !== callerId || !isActive(found, clock())) return INACTIVE;
    const { grant, family, number } = found;
    return {
      active: true,
      iss: issuer,
      sub: grant.accountId,
      aud: grant.resources,
      client_id: grant.clientId,
      scope: formatScopes(grant.scopes),
      // The times of a token that is newer than a restored store are not known.
      ...(number === family.generation && { iat: family.issuedAt, exp: family.expiresAt }),
      ...(grant.workspace !== null && { workspace: grant.workspace }),
      ...(grant.keyThumbprint != null && { cnf: { jkt: grant.keyThumbprint } }),
    };
  }
}

/** What a client may learn of its own opaque token: neither the user nor the grant. */
const OWN_CLAIMS: readonly string[] = ['iss', 'aud', 'client_id', 'scope', 'iat', 'exp', 'cnf'];

function withoutUser(claims: AccessTokenClaims): Partial<AccessTokenClaims> {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => OWN_CLAIMS.includes(name)));
}

/** The endpoint MUST require authorization; a public client does not authenticate. @see RFC 7662 §2.1 */
function checkConfidential(client: AuthenticatedClient): AuthenticatedClient {
  if (client.authenticationMethod !== 'none') return client;
  throw new OAuthError('invalid_client', 'Introspection is for confidential clients.');
}

/** A token that was rotated is not active, even if a retry with it would succeed. */
function isActive(found: FoundRefreshToken, now: number): boolean {
  return found.number >= found.family.generation && refreshTokenIssue(found, now) === null;
}
