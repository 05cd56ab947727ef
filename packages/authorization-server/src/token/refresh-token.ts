/** The grant `refresh_token`: a refresh token is replaced, and nobody is logged out by accident. */
import { OAuthError, readRefreshRequest, temporarilyUnavailable } from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { type DownscopedAccess, downscope } from './downscope.ts';
import { type RefreshTokenState, refreshTokenState } from './family.ts';
import type { GrantHandler, GrantServices } from './grant.ts';
import type { FoundRefreshToken } from './refresh-token-family.ts';

/** What each use of a refresh token is called in the event log. */
const EVENTS = {
  live: 'refresh_token.rotated',
  replayed: 'refresh_token.retried',
  reused: 'refresh_token.reuse_detected',
} as const satisfies Record<RefreshTokenState, string>;

/**
 * Everything that can refuse the request is judged before the token is touched: a refused refresh burns nothing.
 * @see OAuth 2.1 draft 13 §4.3
 */
export function createRefreshGrant({ context, mint, refreshTokens }: GrantServices): GrantHandler {
  const {
    store,
    clock,
    events,
    options: { resources, lifetimes },
  } = context;
  const checkRateLimit = createRateLimitCheck(context, 'refreshes');
  return async (client, form, connection) => {
    const now = clock();
    const request = readRefreshRequest(form);
    const presented = checkStanding(await refreshTokens.find(request.refreshToken), client, now);
    const { grant } = presented;
    const counting = checkRateLimit(grant.id);
    if (counting !== undefined) await counting;
    const narrowed = downscope(grant, request, resources);
    if (standingNow(presented, now) === 'reused') await endFamily(presented, narrowed, now);
    const holder = {
      subject: grant.accountId,
      clientId: client.id,
      grantId: grant.id,
      workspace: grant.workspace,
      until: grant.expiresAt,
    };
    const answer = await mint(holder, narrowed, now);
    const { standing, successor } = await use(presented, client, connection.address ?? null, now);
    if (standing === 'reused') await endFamily(presented, narrowed, now);
    tell(standing, presented, narrowed);
    return { ...answer, refresh_token: successor };
  };

  /**
   * Rotates the live token, or tells again what took the place of one that was. Who is overtaken by a parallel call or another
   * process looks again: a token that is not live any more never will be.
   */
  async function use(
    presented: FoundRefreshToken,
    client: AuthenticatedClient,
    from: string | null,
    now: number,
  ) {
    let latest = presented;
    for (let tries = 0; tries < 2; tries += 1) {
      const standing = standingNow(latest, now);
      if (standing !== 'live') return { standing, successor: refreshTokens.successorOf(latest) };
      const { text, record } = refreshTokens.next(latest, now);
      // Point of no return: the successor takes the token's place.
      const outcome = await store.rotateRefreshToken(latest.grant.id, latest.family.hash, record, from);
      if (outcome === 'rotated') return { standing, successor: text };
      latest = checkStanding(await refreshTokens.find(latest.text), client, now);
    }
    throw temporarilyUnavailable('the store does not agree with itself on a refresh token');
  }

  function standingNow({ number, family }: FoundRefreshToken, now: number): RefreshTokenState {
    return refreshTokenState(number, family, now, lifetimes.refreshGrace);
  }

  /** Who comes with a token of long ago, or whose token somebody else came with, cannot be told: the family ends. */
  async function endFamily(
    presented: FoundRefreshToken,
    narrowed: DownscopedAccess,
    now: number,
  ): Promise<never> {
    if (await store.revokeGrant(presented.grant.id, now)) tell('reused', presented, narrowed);
    throw invalid('reused');
  }

  function tell(
    standing: RefreshTokenState,
    { grant }: FoundRefreshToken,
    { resource, scopes }: DownscopedAccess,
  ): void {
    const { id: grantId, clientId, accountId } = grant;
    events({ type: EVENTS[standing], clientId, accountId, grantId, resource, scopes });
  }
}

/** A refresh token MUST be of the client that presents it, and neither it nor its grant may have ended. */
function checkStanding(
  found: FoundRefreshToken | null,
  client: AuthenticatedClient,
  now: number,
): FoundRefreshToken {
  if (found === null) throw invalid('unknown');
  const { family, grant } = found;
  if (grant.clientId !== client.id) throw invalid(`issued to ${grant.clientId}`);
  if (grant.revokedAt !== null) throw invalid('its grant is revoked');
  if (grant.expiresAt <= now) throw invalid('its grant has expired');
  // Whoever disables the account after this ends the grant too, so that it cannot be rotated.
  if (!grant.hasAccount) throw invalid('its account is gone');
  if (family.expiresAt <= now) throw invalid('not used for too long');
  return found;
}

function invalid(reason: string): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'The refresh token is not valid any more. Start a new authorization request.',
    { reason: `refresh token: ${reason}` },
  );
}
