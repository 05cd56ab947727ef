/** The grant `authorization_code`: a code, and the proof of who asked for it, become tokens. */
import type { ConnectionInfo } from '@portcullis/http';
import {
  networkPrefixOf,
  OAuthError,
  readAuthorizationCodeRequest,
  type TokenResponse,
  verifyCodeVerifier,
} from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { lookupKeyOf, matchesSecret } from '../secrets.ts';
import type { AuthorizationStore, FoundAuthorizationCode, GrantRecord } from '../store/index.ts';
import { downscope } from './downscope.ts';
import type { GrantHandler, GrantServices } from './grant.ts';

/** @see OAuth 2.1 draft 13 §4.1.3 */
export function createAuthorizationCodeGrant(hands: GrantServices): GrantHandler {
  const {
    store,
    clock,
    events,
    options: { resources },
  } = hands.context;
  return async (client, form, connection) => {
    const now = clock();
    const found = checkOwner(await store.findCode(lookupKeyOf(form.required('code'))), client);
    const isProven = verifyCodeVerifier(form.one('code_verifier'), found.codeChallenge, matchesSecret);
    // A code that its client presents without its verifier is in the wrong hands: nobody gets a second guess.
    if (!isProven && found.consumedAt === null) await store.invalidateCode(found.hash, now);
    const request = readAuthorizationCodeRequest(form);
    if (!isProven) throw invalid('wrong code_verifier');
    if (found.consumedAt !== null) {
      if (await isDoubled(store, found, found.consumedAt, connection, now))
        throw invalid('sent twice at once');
      await store.revokeGrant(found.grantId, now);
      const { accountId, grantId } = found;
      events({ type: 'authorization_code.replayed', clientId: client.id, accountId, grantId });
      throw invalid('used before');
    }
    if (found.expiresAt <= now) throw invalid('expired');
    checkRedirectUri(found, request.redirectUri, client);
    const narrowed = downscope(found, { resources: request.resources, scopes: null }, resources);
    return redeem(hands, client, found, narrowed, { now, from: connection.address ?? null });
  };
}

/** Who does not own a code learns nothing about it and changes nothing: it MUST be of the client that it was issued to. */
function checkOwner(
  found: FoundAuthorizationCode | null,
  client: AuthenticatedClient,
): FoundAuthorizationCode {
  if (found === null) throw invalid('unknown');
  if (found.clientId !== client.id) throw invalid(`issued to ${found.clientId}`);
  return found;
}

/** Seconds after its redemption in which a code that comes again may have been sent together with the one that won. */
const MEANWHILE = 5;

/**
 * Whether a proven client may have sent its code twice at once: from the network that redeemed it, a moment ago. Each
 * process sees the others' redemptions only when they are done, so who loses a race looks like who comes later.
 */
async function isDoubled(
  store: AuthorizationStore,
  { grantId }: FoundAuthorizationCode,
  spentAt: number,
  { address }: ConnectionInfo,
  now: number,
): Promise<boolean> {
  const network = address === undefined ? null : networkPrefixOf(address);
  if (network === null || now > spentAt + MEANWHILE) return false;
  const from = (await store.findGrant(grantId))?.grant.lastUsedFrom ?? null;
  return from !== null && networkPrefixOf(from) === network;
}

/** OAuth 2.0 clients repeat the redirect URI; then it MUST be the one of the authorization request. */
function checkRedirectUri(
  found: FoundAuthorizationCode,
  sent: string | undefined,
  client: AuthenticatedClient,
): void {
  if (sent === undefined) return;
  const expected = found.redirectUri === null ? client.metadata.redirect_uris : [found.redirectUri];
  if (!expected.includes(sent)) throw invalid('other redirect_uri');
}

async function redeem(
  {
    context: {
      store,
      events,
      options: { lifetimes },
    },
    mint,
    refreshTokens,
  }: GrantServices,
  client: AuthenticatedClient,
  found: FoundAuthorizationCode,
  narrowed: ReturnType<typeof downscope>,
  { now, from }: { readonly now: number; readonly from: string | null },
): Promise<TokenResponse> {
  const { accountId, grantId, scopes, resources, workspace, consentDigest: terms } = found;
  const expiresAt = now + lifetimes.grant;
  const grant: GrantRecord = {
    id: grantId,
    clientId: client.id,
    accountId,
    scopes,
    resources,
    workspace,
    consentDigest: terms,
    createdAt: now,
    expiresAt,
    lastUsedAt: now,
    lastUsedFrom: from,
  };
  const holder = { subject: accountId, clientId: client.id, grantId, workspace, until: expiresAt };
  const answer = await mint(holder, narrowed, now);
  const refreshToken = client.metadata.grant_types.includes('refresh_token')
    ? refreshTokens.first(grant, now)
    : null;
  // Point of no return: the code is spent, the grant exists.
  const outcome = await store.redeemCode(found.hash, grant, refreshToken?.record ?? null, now);
  if (outcome === 'already_used') throw invalid('used by a parallel request');
  if (outcome === 'account_unavailable') throw invalid('its account is gone');
  events({
    type: 'token.issued',
    grantType: 'authorization_code',
    clientId: client.id,
    accountId,
    grantId,
    ...narrowed,
  });
  return refreshToken === null ? answer : { ...answer, refresh_token: refreshToken.text };
}

function invalid(reason: string): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'The authorization code cannot be redeemed. Start a new authorization request.',
    { reason: `code: ${reason}` },
  );
}
