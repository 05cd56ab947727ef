/** Authorizes a registration: checks the initial access token, or reserves one unit of the quota of unused clients. */
import type { ConnectionInfo, HttpRequest } from '@portcullis/http';
import { OAuthError, readAuthorizationHeader } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createSiteQuota, type QuotaReservation } from '../rate-limit/site-quota.ts';
import { hashSecret, matchesSecret } from '../secrets.ts';
import type { AuthorizationStore, InitialAccessTokenRecord } from '../store/index.ts';
import type { RegistrationRules } from './registration-options.ts';

/** `settle` has to be called with whether the client was stored. */
export interface RegistrationAuthorization extends QuotaReservation {
  /** The unused initial access token of the request; `null`: none was required, or it is one from the configuration. */
  readonly initialAccessToken: InitialAccessTokenRecord | null;
}

/** Throws `OAuthError` when the request may not register a client. */
export type AuthorizeRegistration = (
  request: HttpRequest,
  connection: ConnectionInfo,
) => Promise<RegistrationAuthorization>;

export function createAuthorizeRegistration(
  context: Pick<ServerContext, 'store' | 'clock' | 'options'>,
  rules: RegistrationRules,
): AuthorizeRegistration {
  const { store, clock } = context;
  const quota = createSiteQuota(context, {
    max: rules.maxUnusedClients,
    purpose: 'networks of registrations',
    count: () => store.countUnusedClients(),
    countBySite: () => store.countUnusedClientsByNetwork(),
    rows: 'registration: unused clients',
    exhausted: 'Too many clients have registered and wait for their first use. Try again later.',
    // When the first registrations expire, there is space again.
    retryAfter: 600,
  });
  return async (request, connection) => {
    const initialAccessToken = await checkInitialAccess(request, rules, store, clock());
    // An administrator's initial access token is exempt from the quota, so others cannot exhaust it.
    if (initialAccessToken !== null) return { initialAccessToken, site: null, settle: () => {} };
    return { initialAccessToken, ...(await quota.reserve(connection)) };
  };
}

/**
 * Where none is required, an unused initial access token is still consumed, and any other token is ignored.
 * @returns the initial access token; `null` when none was required, or it is one from the configuration
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
