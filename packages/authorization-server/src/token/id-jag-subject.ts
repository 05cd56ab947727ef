/** Finds the user of the subject token that a client exchanges for an ID-JAG. */
import {
  type Actor,
  OAuthError,
  type Parameters,
  TOKEN_TYPES,
  type UserAuthentication,
  type VerifiedProof,
} from '@portcullis/protocol';
import { createIssuerKeys } from '../assertions/issuer-keys.ts';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { checkProofKey } from '../dpop/dpop-proofs.ts';
import { readOpenIdConnectUser } from '../federation/provider/federated-user.ts';
import { checkUserOfIssuer } from '../federation/provisioned-users.ts';
import { readFederatedAuthentication } from '../users/federated-authentication.ts';
import type { GrantServices } from './grant-handler.ts';
import { isReusedWithoutKey, refreshTokenIssue, refreshTokenState } from './refresh-token-family.ts';

/** The user of a subject token, and how the user signed in; `null`: not known. */
interface Subject {
  readonly accountId: string;
  readonly authentication: UserAuthentication | null;
  /** Who acts for the user, after token exchange. */
  readonly actor?: Actor | undefined;
}

/** @throws OAuthError `invalid_grant` for a subject token that is unknown, of another client, expired or revoked */
export type FindSubject = (
  client: AuthenticatedClient,
  form: Parameters,
  proof: VerifiedProof | null,
) => Promise<Subject>;

/** @see RFC 8693 §2.1, draft-ietf-oauth-identity-assertion-authz-grant §4.3 */
export function createFindSubject(services: GrantServices): FindSubject {
  const { context, accessTokens, refreshTokens, isLive, providerTokens } = services;
  const { clock, store, options } = context;
  const { identityProviders, lifetimes, issuer } = options;
  const findKeys = createIssuerKeys(context);

  return (client, form, proof) => {
    const token = form.required('subject_token');
    const type = form.required('subject_token_type');
    const { refreshToken, accessToken, idToken } = TOKEN_TYPES;
    if (type === refreshToken) return subjectOfRefreshToken(client, token, proof);
    if (type === accessToken) return subjectOfAccessToken(client, token, proof);
    if (type === idToken) return subjectOfIdToken(client, token);
    throw new OAuthError(
      'invalid_request',
      `The subject_token_type must be ${idToken}, ${refreshToken} or ${accessToken}.`,
    );
  };

  async function subjectOfRefreshToken(
    client: AuthenticatedClient,
    token: string,
    proof: VerifiedProof | null,
  ): Promise<Subject> {
    const found = await refreshTokens.find(token);
    if (found === null || found.grant.clientId !== client.id)
      throw invalidSubject('unknown or of another client');
    const { grant, family, number } = found;
    const isReused = isReusedWithoutKey(found, proof);
    if (!isReused) checkProofKey(proof, grant.keyThumbprint ?? null, 'subject_token');
    const now = clock();
    const issue = refreshTokenIssue(found, now);
    if (issue !== null) throw invalidSubject(issue);
    if (isReused || refreshTokenState(number, family, now, lifetimes.refreshGrace) === 'reused') {
      await refreshTokens.revokeReused(found, now);
      throw invalidSubject('reused');
    }
    if (!(await providerTokens.isAlive(grant.id))) throw invalidSubject('its provider tokens have ended');
    return { accountId: grant.accountId, authentication: grant.authentication ?? null };
  }

  /** A token that is bound to a key is worth nothing without it here either. @see RFC 9449 §6.1 */
  async function subjectOfAccessToken(
    client: AuthenticatedClient,
    token: string,
    proof: VerifiedProof | null,
  ): Promise<Subject> {
    const claims = accessTokens.read(token);
    if (claims === null || claims.iss !== issuer || claims.client_id !== client.id) {
      throw invalidSubject('unknown or of another client');
    }
    if (claims.exp <= clock() || claims.grant_id === undefined || !(await isLive(claims))) {
      throw invalidSubject('expired, revoked or without a user');
    }
    checkProofKey(proof, claims.cnf?.jkt ?? null, 'subject_token');
    const { sub, auth_time: time, amr = [], act: actor } = claims;
    return { accountId: sub, authentication: time === undefined ? null : { time, methods: amr }, actor };
  }

  /** An ID token of a federated login belongs to the client that is its audience. @see OpenID Connect Core 1.0 §3.1.3.7 */
  async function subjectOfIdToken(client: AuthenticatedClient, token: string): Promise<Subject> {
    const { verifyIdToken } = await import('../assertions/verify-id-token.ts');
    const providers = [...identityProviders.values()].filter(
      ({ provider }) => provider.protocol === 'openid',
    );
    const issuers = providers.map(({ provider }) => provider.issuer);
    const now = clock();
    const claims = await verifyIdToken(token, { issuers, audience: client.id, now }, findKeys);
    const user = readOpenIdConnectUser(claims.iss, claims);
    // Checked at each exchange: an excluded user may still have a linked account.
    await checkUserOfIssuer(store, identityProviders, user).catch((error: unknown) => {
      const isRefusal = error instanceof OAuthError && error.code === 'access_denied';
      throw isRefusal ? invalidSubject(error.reason ?? 'its user is not allowed') : error;
    });
    const linked = await store.findLinkedIdentity(claims.iss, claims.sub);
    if (linked === null) throw invalidSubject('its user has no account');
    const { twoFactorValues = [] } = providers.find(({ provider }) => provider.issuer === claims.iss) ?? {};
    return {
      accountId: linked.accountId,
      authentication: readFederatedAuthentication(claims, twoFactorValues, now),
    };
  }
}

/** Rejects a subject token; the reason is logged only. */
export function invalidSubject(reason: string): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'The subject_token must be a current one of this client and an enabled user.',
    {
      reason: `subject token: ${reason}`,
    },
  );
}
