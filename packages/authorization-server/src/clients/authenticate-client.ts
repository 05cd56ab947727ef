/** Client authentication with brute-force protection: failures are rate-limited by client and network, and by network. */
import type { ConnectionInfo, HttpRequest } from '@portcullis/http';
import { OAuthError, type Parameters, tooManyRequests } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createLruCache } from '../lru-cache.ts';
import { createFailureLimiter, createTokenBuckets, type FailureLimiter } from '../rate-limit/limiter.ts';
import { networkOf, type RateLimit, type RateLimitPolicies } from '../rate-limit/policies.ts';
import { hashSecret } from '../secrets.ts';
import { type ClientCredentials, readClientCredentials } from './read-client-credentials.ts';
import type { AuthenticatedClient, VerifyClientCredentials } from './verify-client-credentials.ts';

/** Authenticates the client of a request. Throws `OAuthError`: `invalid_client`, `invalid_request`, or 429 after too many failures. */
export type AuthenticateClient = (
  request: HttpRequest,
  form: Parameters,
  connection: ConnectionInfo,
) => Promise<AuthenticatedClient>;

type Context = Pick<ServerContext, 'store' | 'clock' | 'options'>;

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
    const network = networkOf(connection);
    // A public client has no secret that could be guessed.
    return credentials.method === 'none' ? verify(credentials, network) : limitFailures(credentials, network);
  };
}

/** Pairs of client and network that have authenticated: the last ones are remembered. */
const MAX_KNOWN = 50_000;

/**
 * The authorization server MUST protect a client that uses a secret against brute force. Only short secrets of pre-registered
 * clients can be guessed: after too many failures of the same client and network nothing is verified, right or wrong. In all
 * other cases every request is verified, the right client gets in, and failures beyond the limit get 429 instead of 401: a
 * platform with all its clients may be one network, and an attacker may share its address.
 * @see OAuth 2.1 draft 13 §2.4.1
 */
function createLimitFailures(
  context: Context,
  { clientFailures, networkFailures }: RateLimitPolicies,
  verify: VerifyClientCredentials,
): VerifyClientCredentials {
  const createLimiter = (name: string, limit: RateLimit) =>
    createFailureLimiter(context, name, createTokenBuckets(limit, context.clock), limit);
  const guessesByPair = createLimiter('client secret guesses by client and network', clientFailures);
  const failuresByPair = createLimiter(
    'client authentication failures by client and network',
    clientFailures,
  );
  const byNetwork = createLimiter('client authentication failures by network', networkFailures);
  const knownPairs = createLruCache<true>(MAX_KNOWN);

  return async (credentials, network) => {
    const pair = pairKey(network, credentials);
    const isKnown = knownPairs.get(pair) === true;
    const isGuessable = hasGuessableSecret(credentials);
    // Without an address a limit by client alone must be generous, or anyone could lock the client out.
    const byPair = !isGuessable ? failuresByPair : network === null ? byNetwork : guessesByPair;
    if (isGuessable) rejectIf(await begin(byPair, pair));

    let wait = network === null || isKnown ? 0 : await begin(byNetwork, network);
    if (!isGuessable && wait === 0) wait = network === null ? byPair.waitOf(pair) : await begin(byPair, pair);
    // Made-up client identifiers must not fill the store: beyond the limit of a network they are counted in memory only.
    const isNetworkCounted = network !== null && wait === 0;
    const isPairCounted = isGuessable || isNetworkCounted;
    try {
      const client = await verify(credentials, network);
      // Of many guesses at once, those after the last one allowed must not succeed either.
      if (isGuessable && !isKnown) rejectIf(byPair.waitOf(pair));
      knownPairs.set(pair, true);
      if (isPairCounted) byPair.succeeded(pair);
      if (isNetworkCounted) byNetwork.succeeded(network);
      return client;
    } catch (error) {
      if (!(error instanceof OAuthError && error.code === 'invalid_client')) throw error;
      byPair.take(pair);
      if (isNetworkCounted) byNetwork.take(network);
      await Promise.all([
        isPairCounted && byPair.failed(pair),
        isNetworkCounted && byNetwork.failed(network),
      ]);
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
function pairKey(network: string | null, { candidates: [first] }: ClientCredentials): string {
  const key = `${network} ${first?.clientId}`;
  return key.length > MAX_KEY_LENGTH ? hashSecret(key) : key;
}

function rejectIf(wait: number): void {
  if (wait > 0) throw tooManyRequests('too many failed client authentications', wait);
}
