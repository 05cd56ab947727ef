/** The grant token exchange: a protected server gives the access token that it was sent, and gets the third party's token of that person. */
import {
  type AccessTokenClaims,
  formatScopes,
  OAuthError,
  readTokenExchangeRequest,
  type TokenExchangeResponse,
  tokenExchangeResponse,
} from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/authenticate.ts';
import type { ThirdParty } from '../upstream/third-party.ts';
import type { UpstreamToken } from '../upstream/upstream-token.ts';
import type { Grant, GrantHands } from './grant.ts';

/**
 * For the protected server alone: a configured client that proves itself, and that the resource names in `exchangedBy`. What it
 * gives MUST be an access token of ours for exactly that resource, and it gets what the grant of that token rests on. The
 * token that it gives goes nowhere.
 * @see RFC 8693 §2
 */
export function createTokenExchangeGrant(hands: GrantHands): Grant {
  const { configuration, limits, accessTokens, isLive, upstream } = hands;
  const { issuer, resources, thirdParties, clock, events } = configuration;
  return async (client, form) => {
    const own = ownResources(client);
    const request = readTokenExchangeRequest(form);
    const claims = await checkSubject(request.subjectToken, own);
    const { resource, grantId } = claims;
    const thirdParty = chooseThirdParty(thirdParties, request.targets);
    if (grantId === null) throw noThirdParty('its subject is an application');
    limits.checkExchange(grantId);
    const want = {
      ...(thirdParty !== null && { thirdParty: thirdParty.id }),
      ...(request.scopes !== null && { scopes: request.scopes }),
    };
    const token = await upstream.tokenFor(grantId, want).catch(refuseEnded);
    events({
      type: 'upstream.token-given',
      clientId: client.id,
      accountId: claims.subject,
      grantId,
      resource,
      thirdParty: token.thirdParty,
      scopes: token.scopes,
    });
    return respond(token, clock());
  };

  /** The resources that this client is. Saying a name proves nothing, so it has to have proven it. */
  function ownResources(client: AuthenticatedClient): readonly string[] {
    const own = [...resources.values()].filter(({ exchangedBy }) => exchangedBy?.includes(client.id));
    if (client.provenBy !== 'none' && own.length > 0) return own.map(({ resource }) => resource);
    throw new OAuthError(
      'unauthorized_client',
      'Token exchange is for a protected resource that names you.',
      {
        reason: 'no resource names it in exchangedBy',
      },
    );
  }

  /** If the subject token is invalid for any reason, the error MUST be `invalid_request`. @see RFC 8693 §2.2.2 */
  async function checkSubject(
    token: string,
    own: readonly string[],
  ): Promise<{ readonly resource: string; readonly subject: string; readonly grantId: string | null }> {
    const claims: (AccessTokenClaims & { readonly cnf?: unknown }) | null = accessTokens.read(token);
    if (claims === null || claims.iss !== issuer) throw invalidSubject('not one of ours');
    if (claims.exp <= clock()) throw invalidSubject('expired');
    const { aud: resource } = claims;
    if (typeof resource !== 'string' || !own.includes(resource)) {
      throw invalidSubject('for another resource');
    }
    // It came here without its proof: whoever sent it on may have found it.
    if (claims.cnf !== undefined) throw invalidSubject('bound to a key');
    if (!(await isLive(claims))) throw invalidSubject('revoked');
    return { resource, subject: claims.sub, grantId: claims.grant_id ?? null };
  }
}

/** A request may call the place by its identifier here or by its issuer, and several names MUST mean the same. */
function chooseThirdParty(
  thirdParties: ReadonlyMap<string, ThirdParty>,
  targets: readonly string[],
): ThirdParty | null {
  const [chosen = null, ...others] = new Set(
    targets.map((name) => {
      const byIssuer = [...thirdParties.values()].find(({ provider }) => provider.issuer === name);
      const named = thirdParties.get(name) ?? byIssuer;
      if (named === undefined) throw noThirdParty('no third party is called so');
      return named;
    }),
  );
  if (others.length > 0)
    throw new OAuthError('invalid_target', 'Ask for a token of one third party at a time.');
  return chosen;
}

/** Nobody may keep the answer: the endpoint says `no-store` with every one. Times are told from now, as always. */
function respond(token: UpstreamToken, now: number): TokenExchangeResponse {
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

function noThirdParty(reason: string): OAuthError {
  return new OAuthError('invalid_target', 'There is no token of that third party for this subject_token.', {
    reason: `token exchange: ${reason}`,
  });
}

function invalidSubject(reason: string): OAuthError {
  return new OAuthError(
    'invalid_request',
    'The subject_token must be an access token of this server for your resource that is still valid.',
    { reason: `subject token: ${reason}` },
  );
}
