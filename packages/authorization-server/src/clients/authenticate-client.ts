/** Client authentication with brute-force protection: failures are rate-limited by client and site, and by site. */
import type { ConnectionInfo, HttpRequest } from '@portcullis/http';
import { createLruCache, OAuthError, type Parameters, tooManyRequests } from '@portcullis/protocol';
import { createFailureLimiter, createTokenBuckets, type FailureLimiter } from '../rate-limit/limiter.ts';
import { type RateLimit, type RateLimitPolicies, siteOf } from '../rate-limit/policies.ts';
import { hashSecret } from '../secrets.ts';
import type { ClientsContext } from './options.ts';
import { type ClientCredentials, readClientCredentials } from './read-client-credentials.ts';
import type { AuthenticatedClient, VerifyClientCredentials } from './verify-client-credentials.ts';

/** Authenticates the client of a request. Throws `OAuthError`: `invalid_client`, `invalid_request`, or 429 after too many failures. */
export type AuthenticateClient = (
  request: HttpRequest,
  form: Parameters,
  connection: ConnectionInfo,
) => Promise<AuthenticatedClient>;

type Context = Pick<ClientsContext, 'store' | 'clock' | 'options' | 'limits'>;

export function createAuthenticateClient(
  context: Context,
  verify: VerifyClientCredentials,
): AuthenticateClient {
  const read = ({ headers }: HttpRequest, form: Parameters) =>
    readClientCredentials(headers.get('authorization'), form);
  const { rateLimits } = context.options;
  if (rateLimits === null) return (request, form) => verify(read(request, form), null);
  const limitFailures = createLimitFailures(context, rateLimits, verify);
  return (request, form, connection) => {
    const credentials = read(request, form);
    const site = siteOf(connection);
    // A public client has no secret that could be guessed.
    return credentials.method === 'none' ? verify(credentials, site) : limitFailures(credentials, site);
  };
}

/** Pairs of client and site that have authenticated: the last ones are remembered. */
const MAX_KNOWN = 50_000;

/**
 * The authorization server MUST protect a client that uses a secret against brute force. Only short secrets of pre-registered
 * clients can be guessed: after too many failures of the same client and site nothing is verified, right or wrong. In all
 * other cases every request is verified, the legitimate client is authenticated, and failures beyond the limit are 429 instead of 401: a
 * platform with all its clients may be one site, and an attacker may share its address.
 * @see OAuth 2.1 draft 13 §2.4.1
 */
function createLimitFailures(
  context: Context,
  { clientFailures, networkFailures }: RateLimitPolicies,
  verify: VerifyClientCredentials,
): VerifyClientCredentials {
  const createLimiter = (name: string, limit: RateLimit) =>
    context.limits.keep(name, () =>
      createFailureLimiter(context, name, createTokenBuckets(limit, context.clock), limit),
    );
  const guessesByPair = createLimiter('client secret guesses by client and site', clientFailures);
  const failuresByPair = createLimiter('client authentication failures by client and site', clientFailures);
  const bySite = createLimiter('client authentication failures by site', networkFailures);
  const knownPairs = context.limits.keep('authenticated clients', () =>
    createLruCache<true>({ entries: MAX_KNOWN }),
  );

  return async (credentials, site) => {
    const pair = pairKey(site, credentials);
    const isKnown = knownPairs.get(pair) === true;
    const isGuessable = hasGuessableSecret(credentials);
    // Without an address a limit by client alone must be generous, or anyone could lock the client out.
    const byPair = !isGuessable ? failuresByPair : site === null ? bySite : guessesByPair;
    if (isGuessable) rejectIf(await begin(byPair, pair));

    let wait = site === null || isKnown ? 0 : await begin(bySite, site);
    if (!isGuessable && wait === 0) wait = site === null ? byPair.waitOf(pair) : await begin(byPair, pair);
    // Made-up client identifiers must not fill the store: beyond the limit of a site they are counted in memory only.
    const isSiteCounted = site !== null && wait === 0;
    const isPairCounted = isGuessable || isSiteCounted;
    try {
      const client = await verify(credentials, site);
      // Of many guesses at once, those after the last one allowed must not succeed either.
      if (isGuessable && !isKnown) rejectIf(byPair.waitOf(pair));
      if (!isKnown) knownPairs.set(pair, true);
      if (isPairCounted) byPair.succeeded(pair);
      if (isSiteCounted) bySite.succeeded(site);
      return client;
    } catch (error) {
      if (!(error instanceof OAuthError && error.code === 'invalid_client')) throw error;
      byPair.take(pair);
      if (isSiteCounted) bySite.take(site);
      await Promise.all([isPairCounted && byPair.failed(pair), isSiteCounted && bySite.failed(site)]);
      rejectIf(wait);
      throw error;
    }
  };

  function hasGuessableSecret({ method, candidates }: ClientCredentials): boolean {
    return (
      method !== 'private_key_jwt' &&
      candidates.some(({ clientId }) => context.options.clients.get(clientId)?.hasGuessableSecret === true)
    );
  }
}

function begin(limiter: FailureLimiter, key: string): number | Promise<number> {
  return limiter.waitOf(key) || limiter.prepay(key);
}

const MAX_KEY_LENGTH = 100;

/** The text itself, or its hash if it is too long. */
function pairKey(site: string | null, { candidates: [first] }: ClientCredentials): string {
  const key = `${site} ${first?.clientId}`;
  return key.length > MAX_KEY_LENGTH ? hashSecret(key) : key;
}

function rejectIf(wait: number): void {
  if (wait > 0) throw tooManyRequests('too many failed client authentications', wait);
}
