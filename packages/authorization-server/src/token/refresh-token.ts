/** The refresh token grant: rotates refresh tokens, returns the same successor to retries, and revokes the family on reuse. */
import {
  OAuthError,
  readRequestedAccess,
  temporarilyUnavailable,
  type VerifiedProof,
} from '@portcullis/protocol';
import type { RefreshTokenUse } from '../audit/events.ts';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { checkProofKey } from '../dpop/dpop-proofs.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { type DownscopedAccess, downscopeGrant } from './downscope.ts';
import type { GrantHandler, GrantServices } from './grant-handler.ts';
import type { TokenContext } from './options.ts';
import {
  type FoundRefreshToken,
  isReusedWithoutKey,
  type RefreshTokenState,
  refreshTokenIssue,
  refreshTokenState,
} from './refresh-token-family.ts';

/**
 * Everything that can fail the request is checked before the token is touched: a rejected refresh changes nothing. Only reuse
 * comes first, whatever else the request contains.
 * @see RFC 6749 §6, RFC 9700 §4.14, OAuth 2.1 draft 13 §4.3
 */
export function createRefreshGrant(services: GrantServices): GrantHandler {
  const { context, issueAccessToken, refreshTokens } = services;
  const { store, clock } = context;
  const { lifetimes } = context.options;
  const checkRateLimit = createRateLimitCheck(context, 'refreshes');
  return async (client, form, connection, proof, ahead) => {
    const now = clock();
    const found = checkRefreshToken(
      await refreshTokens.find(form.required('refresh_token'), ahead),
      client,
      now,
    );
    const { grant } = found;
    if (isReusedWithoutKey(found, proof)) await revokeFamily(found, now);
    // Without its key, even a used token may only have been stolen: that changes nothing.
    checkKey(found, proof);
    // Before the rest is read: neither another parameter nor a limit hides reuse, or reveals that the grant is live.
    if (stateOf(found, now) === 'reused') await revokeFamily(found, now);
    const isBound = bindsToken(form.one('token_type'), client);
    const charging = checkRateLimit(grant.id);
    if (charging !== undefined) await charging;
    const access = await downscopeGrant(context, client, grant, readRequestedAccess(form));
    const holder = {
      subject: grant.accountId,
      clientId: client.id,
      grantId: grant.id,
      workspace: grant.workspace,
      until: grant.expiresAt,
      proof: isBound ? proof : null,
      authentication: grant.authentication,
    };
    if (!isBound && proof !== null) await proof.consume();
    const response = await issueAccessToken(holder, access, now);
    const { state, latest, successor } = await rotate(found, client, proof, connection.address ?? null, now);
    if (state === 'reused') await revokeFamily(latest, now);
    if (state === 'ahead') emit(context, { type: 'refresh_token.ahead_of_store' }, latest, access);
    emit(context, describe(state, latest, now), latest, access);
    return { ...response, refresh_token: successor };
  };

  /**
   * Rotates the live token, or returns the successor again if it was rotated already. If a concurrent request or another process
   * was faster, the token is read once more: a token that is no longer live never becomes live again.
   */
  async function rotate(
    found: FoundRefreshToken,
    client: AuthenticatedClient,
    proof: VerifiedProof | null,
    from: string | null,
    now: number,
  ): Promise<Rotation> {
    let latest = found;
    for (let tries = 0; tries < 2; tries += 1) {
      const state = stateOf(latest, now);
      if (state === 'retried' || state === 'reused')
        return { state, latest, successor: refreshTokens.successorOf(latest) };
      const { text, record } = refreshTokens.next(latest, now);
      const bindTo = newKeyOf(latest, client, proof);
      // Point of no return: the successor replaces the token.
      const outcome = await store.rotateRefreshToken(
        latest.grant.id,
        latest.family.hash,
        record,
        from,
        bindTo,
      );
      if (outcome === 'rotated') return { state, latest, successor: text };
      latest = checkRefreshToken(await refreshTokens.find(latest.text), client, now);
      // The faster request may have bound it.
      if (isReusedWithoutKey(latest, proof)) await revokeFamily(latest, now);
      checkKey(latest, proof);
    }
    throw temporarilyUnavailable('the store contradicts itself about a refresh token');
  }

  function stateOf({ number, family }: FoundRefreshToken, now: number): RefreshTokenState {
    return refreshTokenState(number, family, now, lifetimes.refreshGrace);
  }

  async function revokeFamily(found: FoundRefreshToken, now: number): Promise<never> {
    await refreshTokens.revokeReused(found, now);
    throw invalid('reused');
  }
}

function checkKey({ grant }: FoundRefreshToken, proof: VerifiedProof | null): void {
  checkProofKey(proof, grant.keyThumbprint ?? null, 'refresh token');
}

function emit(
  { events }: TokenContext,
  use: RefreshTokenUse,
  { grant }: FoundRefreshToken,
  { resource, scopes }: DownscopedAccess,
): void {
  const { id: grantId, clientId, accountId } = grant;
  events({ ...use, clientId, accountId, grantId, resource, scopes });
}

/**
 * Whether the access token is bound to the key of the proof, as always, unless the client requests a bearer token: for a program that
 * cannot make proofs. It proves its key all the same. An extension of this server.
 */
function bindsToken(tokenType: string | undefined, { metadata }: AuthenticatedClient): boolean {
  if (tokenType?.toLowerCase() !== 'bearer') return true;
  if (metadata.dpop_bound_access_tokens !== true) return false;
  throw new OAuthError(
    'invalid_request',
    'This client registered dpop_bound_access_tokens: leave token_type out.',
  );
}

/**
 * The key that the refresh tokens of a public client are bound to from now on; `null`: no other than before. "When an authorization
 * server supporting DPoP issues a refresh token to a public client that presents a valid DPoP proof at the token endpoint, the refresh
 * token MUST be bound to the respective public key."
 * @see RFC 9449 §5
 */
function newKeyOf(
  { grant }: FoundRefreshToken,
  { authenticationMethod }: AuthenticatedClient,
  proof: VerifiedProof | null,
): string | null {
  const isBindable = authenticationMethod === 'none' && grant.keyThumbprint == null;
  return isBindable ? (proof?.thumbprint ?? null) : null;
}

/** What became of a refresh token. */
interface Rotation {
  readonly state: RefreshTokenState;
  /** The token with its family as it was last read. */
  readonly latest: FoundRefreshToken;
  readonly successor: string;
}

/** The audit event of a refresh. */
function describe(state: RefreshTokenState, { family }: FoundRefreshToken, now: number): RefreshTokenUse {
  if (state !== 'retried') return { type: 'refresh_token.rotated' };
  return { type: 'refresh_token.retried', secondsSinceRotation: Math.max(0, now - family.issuedAt) };
}

/** Rejects a refresh token issued to another client, or whose family or grant has ended. @see RFC 6749 §6 */
function checkRefreshToken(
  found: FoundRefreshToken | null,
  client: AuthenticatedClient,
  now: number,
): FoundRefreshToken {
  if (found === null) throw invalid('unknown');
  const { clientId } = found.grant;
  if (clientId !== client.id) throw invalid(`issued to ${clientId}`);
  const issue = refreshTokenIssue(found, now);
  if (issue !== null) throw invalid(issue);
  return found;
}

function invalid(reason: string): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'The refresh token is no longer valid. Start a new authorization request.',
    { reason: `refresh token: ${reason}` },
  );
}
