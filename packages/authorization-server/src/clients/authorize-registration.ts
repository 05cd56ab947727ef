/** Admission to registration: who may register, and for whom there is a place until the first use. */

import { createHmac } from 'node:crypto';
import type { ConnectionInfo, HttpRequest } from '@portcullis/http';
import { OAuthError, readAuthorizationHeader, sitePrefixOf } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { deriveKey } from '../encryption/encryptor.ts';
import { createLruCache } from '../lru-cache.ts';
import { createUnusedClientQuota, type SettleReservation } from '../rate-limit/unused-client-quota.ts';
import { hashSecret, matchesSecret } from '../secrets.ts';
import type { AuthorizationStore, InitialAccessTokenRecord } from '../store/index.ts';
import type { RegistrationRules } from './registration-options.ts';

/** A stranger who may register. */
export interface RegistrationAuthorization {
  /** The invitation that was presented and is not used yet; `null`: none was needed, or a token of the configuration came. */
  readonly initialAccessToken: InitialAccessTokenRecord | null;
  /** By what the store counts those that come from the same place; `null` when nobody knows where that is. */
  readonly network: string | null;
  /** To be called when the client is stored, or is not. */
  readonly settle: SettleReservation;
}

/** Lets a stranger register. Throws `OAuthError`. */
export type AuthorizeRegistration = (
  request: HttpRequest,
  connection: ConnectionInfo,
) => Promise<RegistrationAuthorization>;

export function createAuthorizeRegistration(
  { store, clock, options: { masterKey } }: Pick<ServerContext, 'store' | 'clock' | 'options'>,
  rules: RegistrationRules,
): AuthorizeRegistration {
  const places = createUnusedClientQuota(store, clock, rules.maxUnusedClients);
  const networkOfConnection = createNameNetwork(masterKey);
  return async (request, connection) => {
    const invitation = await checkInitialAccess(request, rules, store, clock());
    // Whom an administrator invited is one for whom there is a place: strangers cannot take it.
    if (invitation !== null) return { initialAccessToken: invitation, network: null, settle: () => {} };
    const network = networkOfConnection(connection);
    return { initialAccessToken: invitation, network, settle: await places.reserve(network) };
  };
}

/** Base64url characters: 66 bits, which nobody can choose, so no two of some thousand networks are taken for one. */
const NAME_LENGTH = 11;

/** A network as the store counts it: the same in all processes, and read by nobody who has the store alone. */
function createNameNetwork(masterKey: Uint8Array): (connection: ConnectionInfo) => string | null {
  const key = deriveKey(masterKey, 'networks of registrations');
  const names = createLruCache<string>(1000);
  return ({ address }) => {
    const site = address === undefined ? null : sitePrefixOf(address);
    if (site === null) return null;
    const known = names.get(site);
    if (known !== undefined) return known;
    const name = createHmac('sha256', key).update(site).digest('base64url').slice(0, NAME_LENGTH);
    names.set(site, name);
    return name;
  };
}

/**
 * Where anybody may register, an invitation is taken as well, and any other token is passed over.
 * @returns the invitation that was presented; `null` when none was needed, or a token of the configuration
 * @see RFC 7591 §3
 */
async function checkInitialAccess(
  request: HttpRequest,
  { requireInitialAccessToken, initialAccessHashes: hashes }: RegistrationRules,
  store: Pick<AuthorizationStore, 'findInitialAccessToken'>,
  now: number,
): Promise<InitialAccessTokenRecord | null> {
  const token = readBearerToken(request);
  if (token === null) {
    if (requireInitialAccessToken) throw invalidInitialAccessToken('none');
    return null;
  }
  if (hashes.some((known) => matchesSecret(token, known))) return null;
  const invitation = await store.findInitialAccessToken(hashSecret(token), now);
  if (invitation !== null && invitation.clientId === null) return invitation;
  if (requireInitialAccessToken) throw invalidInitialAccessToken(invitation === null ? 'unknown' : 'used');
  return null;
}

export function invalidInitialAccessToken(reason: 'none' | 'unknown' | 'used'): OAuthError {
  return new OAuthError('invalid_token', 'Send an initial access token of this server as a bearer token.', {
    reason: `initial access token: ${reason}`,
  });
}

/** The bearer token of a request; `null` when there is none that can be read. */
export function readBearerToken(request: HttpRequest): string | null {
  const credentials = readAuthorizationHeader(request.headers.get('authorization'));
  return credentials.kind === 'token' && credentials.scheme === 'Bearer' ? credentials.token : null;
}
