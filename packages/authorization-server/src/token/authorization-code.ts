/** The authorization code grant: exchanges a single-use code and its PKCE code verifier for tokens. */
import type { ConnectionInfo } from '@portcullis/http';
import {
  type DEVICE_CODE,
  networkPrefixOf,
  OAuthError,
  readAuthorizationCodeRequest,
  type TokenResponse,
  type VerifiedProof,
  verifyCodeVerifier,
} from '@portcullis/protocol';
import type { AuthenticatedClient } from '../clients/verify-client-credentials.ts';
import { checkProofKey } from '../dpop/dpop-proofs.ts';
import { lookupKeyOf, matchesSecret } from '../secrets.ts';
import type { AuthorizationStore, FoundAuthorizationCode, GrantRecord } from '../store/index.ts';
import { type DownscopedAccess, downscopeGrant } from './downscope.ts';
import type { GrantHandler, GrantServices } from './grant-handler.ts';

/** @see RFC 6749 §4.1.3, RFC 7636 §4.6, OAuth 2.1 draft 13 §4.1.3 */
export function createAuthorizationCodeGrant(services: GrantServices): GrantHandler {
  const { store, clock, events } = services.context;
  return async (client, form, connection, proof) => {
    const now = clock();
    const found = checkOwner(await store.findCode(lookupKeyOf(form.required('code'))), client, invalid);
    const isVerified = verifyCodeVerifier(form.one('code_verifier'), found.codeChallenge, matchesSecret);
    // A code sent by its client without the verifier may have been intercepted, so there is no second guess.
    if (!isVerified && found.consumedAt === null) await store.invalidateCode(found.hash, now);
    // Before the rest is read: no other parameter hides reuse.
    if (isVerified && found.consumedAt !== null) {
      if (await isConcurrentDuplicate(store, found, found.consumedAt, connection, now)) {
        throw invalid('sent twice concurrently');
      }
      // "SHOULD revoke (when possible) all tokens previously issued based on that authorization code" (RFC 6749 §4.1.2)
      await store.revokeGrant(found.grantId, now);
      const { accountId, grantId } = found;
      events({ type: 'authorization_code.replayed', clientId: client.id, accountId, grantId });
      throw invalid('already used');
    }
    const request = readAuthorizationCodeRequest(form);
    if (!isVerified) throw invalid('wrong code_verifier');
    if (found.expiresAt <= now) throw invalid('expired');
    checkRedirectUri(found, request.redirectUri, client);
    checkProofKey(proof, found.keyThumbprint ?? null, 'authorization request');
    const requested = { resources: request.resources, scopes: null };
    const access = await downscopeGrant(services.context, client, found, requested);
    const from = connection.address ?? null;
    return redeemCode(services, client, found, access, { grantType: 'authorization_code', now, from, proof });
  };
}

/**
 * The code MUST have been issued to the authenticated client. Another client learns nothing about it and changes nothing.
 * @see RFC 6749 §4.1.3
 */
export function checkOwner<Code extends { readonly clientId: string }>(
  found: Code | null,
  client: AuthenticatedClient,
  invalid: (reason: string) => OAuthError,
): Code {
  if (found === null) throw invalid('unknown');
  if (found.clientId !== client.id) throw invalid(`issued to ${found.clientId}`);
  return found;
}

/** Seconds after the redemption of a code in which a second request may be a duplicate of the first. */
const DUPLICATE_WINDOW = 5;

/**
 * Whether an authenticated client may have sent its code twice at once: from the same network, moments after the redemption. A
 * process sees redemptions of others only after they are committed, so losing a race is indistinguishable from a later redemption.
 */
async function isConcurrentDuplicate(
  store: AuthorizationStore,
  { grantId }: FoundAuthorizationCode,
  consumedAt: number,
  { address }: ConnectionInfo,
  now: number,
): Promise<boolean> {
  const network = address === undefined ? null : networkPrefixOf(address);
  if (network === null || now > consumedAt + DUPLICATE_WINDOW) return false;
  const from = (await store.findGrant(grantId))?.grant.lastUsedFrom ?? null;
  return from !== null && networkPrefixOf(from) === network;
}

/** OAuth 2.0 clients repeat the redirect URI; it MUST be identical to that of the authorization request. @see RFC 6749 §4.1.3 */
function checkRedirectUri(
  found: FoundAuthorizationCode,
  sent: string | undefined,
  client: AuthenticatedClient,
): void {
  if (sent === undefined) return;
  const expected = found.redirectUri === null ? client.metadata.redirect_uris : [found.redirectUri];
  if (!expected.includes(sent)) throw invalid('redirect_uri does not match');
}

/** How a code is redeemed. */
export interface Redemption {
  readonly grantType: 'authorization_code' | typeof DEVICE_CODE;
  readonly now: number;
  /** The network address of the request. */
  readonly from: string | null;
  readonly proof: VerifiedProof | null;
}

/** Creates the grant of a code, and its tokens. @throws OAuthError `invalid_grant` when another request was faster */
export async function redeemCode(
  { context: { store, events, options }, issueAccessToken, refreshTokens }: GrantServices,
  client: AuthenticatedClient,
  found: FoundAuthorizationCode,
  access: DownscopedAccess,
  { grantType, now, from, proof }: Redemption,
): Promise<TokenResponse> {
  const { accountId, grantId, scopes, resources, workspace, consentDigest } = found;
  const expiresAt = now + options.lifetimes.grant;
  const grant: GrantRecord = {
    id: grantId,
    clientId: client.id,
    accountId,
    scopes,
    resources,
    workspace,
    consentDigest,
    createdAt: now,
    expiresAt,
    lastUsedAt: now,
    lastUsedFrom: from,
    authentication: found.authentication ?? null,
    // The refresh token of a public client MUST be bound to its key; others authenticate. RFC 9449 §5
    keyThumbprint: client.authenticationMethod === 'none' ? (proof?.thumbprint ?? null) : null,
  };
  const holder = {
    subject: accountId,
    clientId: client.id,
    grantId,
    workspace,
    until: expiresAt,
    proof,
    authentication: grant.authentication,
  };
  const response = await issueAccessToken(holder, access, now);
  const refreshToken = client.metadata.grant_types.includes('refresh_token')
    ? refreshTokens.first(grant, now)
    : null;
  // Point of no return: the code is used up and the grant exists.
  const outcome = await store.redeemCode(found.hash, grant, refreshToken?.record ?? null, now);
  if (outcome === 'already_used') throw invalid('used by a concurrent request');
  if (outcome === 'account_unavailable') throw invalid('account disabled or removed');
  events({ type: 'token.issued', grantType, clientId: client.id, accountId, grantId, ...access });
  return refreshToken === null ? response : { ...response, refresh_token: refreshToken.text };
}

function invalid(reason: string): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'The authorization code cannot be redeemed. Start a new authorization request.',
    { reason: `code: ${reason}` },
  );
}
