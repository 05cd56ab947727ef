/** Token exchange for another protected resource: a server calls the next one for its user, as a further actor of the chain. */
import {
  type AccessTokenClaims,
  type Actor,
  impliedScopes,
  intersectScopes,
  OAuthError,
  readScopes,
  TOKEN_TYPES,
  type TokenExchangeRequest,
  type TokenResponse,
  USER_CLAIMS,
  type VerifiedProof,
} from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { type DownscopedAccess, downscope } from './downscope.ts';
import type { GrantServices } from './grant-handler.ts';

/** Actors of a token: the client of the user, and servers that call each other. */
export const MAX_ACTORS = 5;

/** The chain of actors as events name it, the latest first: `sub`, or `sub@iss` for one that another issuer named. */
export function listActors({ sub, iss, act }: Actor): readonly string[] {
  return [iss === undefined ? sub : `${sub}@${iss}`, ...(act === undefined ? [] : listActors(act))];
}

/** @param claims of the subject token, whose audience the client represents */
export type Delegate = (
  client: AuthenticatedClient,
  claims: AccessTokenClaims,
  request: TokenExchangeRequest,
  proof: VerifiedProof | null,
) => Promise<TokenResponse>;

/**
 * The token has one audience, at most the scopes and the lifetime of the subject token, and ends with its grant.
 * @see RFC 8693 §2.1 and §4.1
 */
export function createDelegate({ context, issueAccessToken, isLive }: GrantServices): Delegate {
  const { clock, events } = context;
  const { resources } = context.options;
  return async (client, claims, request, proof) => {
    const { sub: subject, grant_id: grantId, workspace = null, exp: until } = claims;
    const access = await chooseAccess(client, claims, request);
    const actor: Actor = { sub: client.id, act: actorBefore(claims) };
    const actors = listActors(actor);
    if (actors.length > MAX_ACTORS) throw rejected(`The subject_token has ${MAX_ACTORS} actors already.`);
    if (grantId === undefined) throw rejected('The subject_token must be of a user.');
    if (!(await isLive(claims))) throw rejected('The subject_token was revoked.');
    // The sign-in is that of the user, however long the chain.
    const authentication =
      claims.auth_time === undefined ? null : { time: claims.auth_time, methods: claims.amr ?? [] };
    const holder = { subject, clientId: client.id, grantId, workspace, until, proof, actor, authentication };
    // The user's consent page listed the claims of the first resource only, and the client can read the token.
    const sharedClaims = USER_CLAIMS.filter((claim) => Object.hasOwn(claims, claim));
    const response = await issueAccessToken({ ...holder, sharedClaims }, access, clock());
    events({ type: 'token.exchanged', clientId: client.id, accountId: subject, grantId, actors, ...access });
    return Object.assign(response, { issued_token_type: TOKEN_TYPES.accessToken });
  };

  /** Never more than the subject token allows, and its user and the requesting client may be granted and registered. */
  async function chooseAccess(
    { id: clientId, metadata }: AuthenticatedClient,
    claims: AccessTokenClaims,
    request: TokenExchangeRequest,
  ): Promise<DownscopedAccess> {
    const [target = '', ...others] = new Set(request.targets);
    const allowed = resources.get(String(claims.aud))?.exchangeTargets ?? [];
    if (others.length > 0 || !allowed.includes(target)) {
      throw new OAuthError('invalid_target', 'Name one resource that your resource may call.');
    }
    const subjectScopes = readScopes(claims.scope ?? '');
    // The user consented to the other client's scopes, at most up to this client's maximum.
    const registered = metadata.scope === undefined ? subjectScopes : readScopes(metadata.scope);
    const maximum = impliedScopes(registered, resources.get(target)?.hierarchy ?? {});
    const granted = { resources: [target], scopes: intersectScopes(subjectScopes, [...maximum]) };
    const requested = { resources: [target], scopes: request.scopes };
    const access = await downscope(context, { clientId, accountId: claims.sub }, granted, requested);
    const isEmpty = access.scopes.length === 0 && Object.keys(resources.get(target)?.scopes ?? {}).length > 0;
    if (isEmpty) {
      throw new OAuthError(
        'invalid_scope',
        'The subject_token has no scope of that resource that your client may have.',
      );
    }
    return access;
  }
}

/** The client of the subject token, and the actors before it: it is the first of them already, unless an identity provider named them. */
function actorBefore({ act, client_id: sub }: AccessTokenClaims): Actor {
  if (act === undefined) return { sub };
  return act.iss === undefined ? act : { sub, act };
}

/** "If the subject token is invalid for any reason, the error MUST be `invalid_request`." @see RFC 8693 §2.2.2 */
function rejected(description: string): OAuthError {
  return new OAuthError('invalid_request', description);
}
