/** Authorizes a registration: checks the initial access token, or reserves a place in the quota of unused clients. */
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

export interface RegistrationAuthorization {
  /** The unused initial access token of the request; `null`: none was required, or it is one from the configuration. */
  readonly initialAccessToken: InitialAccessTokenRecord | null;
  /** The site of the request as the store counts it; `null` when it is unknown. */
  readonly network: string | null;
  /** Has to be called with whether the client was stored. */
  readonly settle: SettleReservation;
}

/** Throws `OAuthError` when the request may not register a client. */
export type AuthorizeRegistration = (
  request: HttpRequest,
  connection: ConnectionInfo,
) => Promise<RegistrationAuthorization>;

export function createAuthorizeRegistration(
  { store, clock, options: { masterKey } }: Pick<ServerContext, 'store' | 'clock' | 'options'>,
  rules: RegistrationRules,
): AuthorizeRegistration {
  const quota = createUnusedClientQuota(store, clock, rules.maxUnusedClients);
  const networkOfConnection = createNameNetwork(masterKey);
  return async (request, connection) => {
    const initialAccessToken = await checkInitialAccess(request, rules, store, clock());
    // An administrator's initial access token needs no place in the quota: others cannot exhaust it.
    if (initialAccessToken !== null) return { initialAccessToken, network: null, settle: () => {} };
    const network = networkOfConnection(connection);
    return { initialAccessToken, network, settle: await quota.reserve(network) };
  };
}

/** Base64url characters: 66 bits under a key, so that no two sites collide. */
const NAME_LENGTH = 11;

/** Names a site by a keyed hash: the same in all processes, and meaningless to a reader of the store. */
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
 * Where none is required, an unused initial access token is still consumed, and any other token is ignored.
 * @returns the presented token; `null` when none was required, or it is one from the configuration
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
  const initialAccessToken = await store.findInitialAccessToken(hashSecret(token), now);
  if (initialAccessToken !== null && initialAccessToken.clientId === null) return initialAccessToken;
  if (requireInitialAccessToken)
    throw invalidInitialAccessToken(initialAccessToken === null ? 'unknown' : 'used');
  return null;
}

export function invalidInitialAccessToken(reason: 'none' | 'unknown' | 'used'): OAuthError {
  return new OAuthError('invalid_token', 'Send an initial access token of this server as a bearer token.', {
    reason: `initial access token: ${reason}`,
  });
}

/** The bearer token of a request; `null` without a readable one. */
export function readBearerToken(request: HttpRequest): string | null {
  const credentials = readAuthorizationHeader(request.headers.get('authorization'));
  return credentials.kind === 'token' && credentials.scheme === 'Bearer' ? credentials.token : null;
}
