/** The grant `refresh_token`: a refresh token is replaced, and nobody is logged out by accident. */
import { OAuthError, readRefreshRequest } from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/authenticate.ts';
import type { FoundRefreshToken, GrantRecord, Rotation } from '../ports/index.ts';
import { hashSecret } from '../secrets.ts';
import type { Grant, GrantHands } from './grant.ts';
import { narrow } from './narrow.ts';

/** What each outcome of a rotation is called in the event log; `gone` is a plain refusal. */
const EVENTS = {
  rotated: 'token.refreshed',
  replayed: 'token.replayed',
  reused: 'token.reused',
  gone: null,
} as const;

/** Seconds. */
const USE_NOTED_EVERY = 60;

/**
 * Everything that can refuse the request is judged before the token is touched: a refused refresh burns nothing.
 * @see OAuth 2.1 draft 13 §4.3
 */
export function createRefreshGrant({ configuration, limits, mint, refreshTokens }: GrantHands): Grant {
  const { store, resources, lifetimes, clock, events } = configuration;
  return async (client, form, peer) => {
    const now = clock();
    const request = readRefreshRequest(form);
    const found = checkStanding(await store.findRefreshToken(hashSecret(request.refreshToken)), client, now);
    const { grant } = found;
    limits.checkRefresh(grant.id);
    await checkAccount(grant.accountId);
    const narrowed = narrow(grant, request, resources);
    const holder = {
      subject: grant.accountId,
      clientId: client.id,
      grantId: grant.id,
      workspace: grant.workspace,
      until: grant.expiresAt,
    };
    const answer = await mint(holder, narrowed, now);
    const successor = refreshTokens.successorOf(request.refreshToken);
    const record = refreshTokens.record(successor, grant, now);
    // Point of no return: the successor takes the token's place.
    const outcome = await store.rotateRefreshToken(found.token.hash, record, now, lifetimes.refreshGrace);
    note(outcome, { clientId: client.id, accountId: grant.accountId, grantId: grant.id, ...narrowed });
    if (outcome === 'reused' || outcome === 'gone') throw invalid(outcome);
    await noteUse(grant, peer.address ?? null, now);
    const given =
      outcome === 'replayed' ? await refreshTokens.findSuccessorOf(request.refreshToken) : successor;
    return { ...answer, refresh_token: given };
  };

  async function checkAccount(accountId: string): Promise<void> {
    const account = await store.findAccount(accountId);
    if (account === null || account.disabledAt !== null) throw invalid('its account is gone');
  }

  /** Who refreshes all the time is noted once a minute: people read it, nothing is decided by it. */
  async function noteUse({ id, lastUsedAt, lastUsedFrom }: GrantRecord, from: string | null, now: number) {
    if (now - lastUsedAt < USE_NOTED_EVERY && from === lastUsedFrom) return;
    // The token is rotated already: that nobody could note it is no reason to refuse.
    await store.noteGrantUse(id, now, from).catch(() => {});
  }

  function note(outcome: Rotation, about: object): void {
    const type = EVENTS[outcome];
    if (type !== null) events({ type, ...about });
  }
}

/** A refresh token MUST be of the client that presents it, and neither it nor its grant may have ended. */
function checkStanding(
  found: FoundRefreshToken | null,
  client: AuthenticatedClient,
  now: number,
): FoundRefreshToken {
  if (found === null) throw invalid('unknown');
  const { token, grant } = found;
  if (grant.clientId !== client.id) throw invalid(`issued to ${grant.clientId}`);
  if (grant.revokedAt !== null) throw invalid('its grant is revoked');
  if (grant.expiresAt <= now) throw invalid('its grant has expired');
  if (token.expiresAt <= now) throw invalid('not used for too long');
  return found;
}

function invalid(reason: string): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'The refresh token is not valid any more. Start a new authorization request.',
    { reason: `refresh token: ${reason}` },
  );
}
