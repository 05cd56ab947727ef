/** Authentication of clients, limited in its failures: nobody guesses a secret, and nobody elsewhere locks a client out. */

import type { ConnectionInfo, HttpRequest } from '@portcullis/http';
import { networkPrefixOf, OAuthError, type Parameters, tooManyRequests } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createLruCache } from '../lru-cache.ts';
import type { RateLimitPolicies } from '../rate-limit/policies.ts';
import { createFailureLimiter } from '../rate-limit/shared-failures.ts';
import { hashSecret } from '../secrets.ts';
import { type ClientCredentials, readClientCredentials } from './read-client-credentials.ts';
import type { AuthenticatedClient, VerifyClientCredentials } from './verify-client-credentials.ts';

/** Authenticates a client, unless that failed too often. Throws `OAuthError`. */
export type AuthenticateClient = (
  request: HttpRequest,
  form: Parameters,
  connection: ConnectionInfo,
) => Promise<AuthenticatedClient>;

/** Limits what authenticates, as the configuration says; `null` there: nothing is counted, and no network is known. */
export function createAuthenticateClient(
  context: Pick<ServerContext, 'store' | 'clock' | 'options'>,
  authenticate: VerifyClientCredentials,
): AuthenticateClient {
  const {
    options: { rateLimits: limits },
  } = context;
  if (limits === null) return (request, form) => authenticate(presentedBy(request, form), null);
  return holdToLimits(context, limits, authenticate);
}

function presentedBy({ headers }: HttpRequest, form: Parameters): ClientCredentials {
  return readClientCredentials(headers.get('authorization'), form);
}

/** Pairs of client and network that have authenticated: the last ones are remembered. */
const REMEMBERED = 50_000;
const LONGEST_NAME = 100;

/**
 * The authorization server MUST protect a client that uses a secret against brute force. Failures are counted by client and
 * network, so that nobody elsewhere can lock a client out, and by network for those who try many clients. Where a secret might be
 * guessed, too many by one client hold back whoever comes in its name, right or wrong. In all other cases nothing can be
 * guessed, and too many turn away all that are wrong but nobody who is right: a platform with all its clients may be one
 * network, and a stranger may stand behind the same address.
 * @see OAuth 2.1 draft 13 §2.4.1
 */
function holdToLimits(
  context: Pick<ServerContext, 'store' | 'clock' | 'options'>,
  rules: RateLimitPolicies,
  authenticate: VerifyClientCredentials,
): AuthenticateClient {
  const ofGuesses = createFailureLimiter(context, 'client at network', rules.clientFailures);
  const ofPair = createFailureLimiter(context, 'proof at network', rules.clientFailures);
  const ofNetwork = createFailureLimiter(context, 'clients at network', rules.networkFailures);
  const known = createLruCache<true>(REMEMBERED);

  return (request, form, { address }) => {
    const presented = presentedBy(request, form);
    const network = address === undefined ? null : networkPrefixOf(address);
    // A client without a secret has none that could be guessed.
    if (presented.method === 'none') return authenticate(presented, network);
    const pair = nameOf(network, presented.candidates[0]?.clientId ?? '');
    return mayBeGuess(presented) ? judgeGuess(presented, network, pair) : judge(presented, network, pair);
  };

  /** Assertions cannot be guessed, nor the secrets that this server made, nor those of the configuration that are long. */
  function mayBeGuess({ method, candidates: readings }: ClientCredentials): boolean {
    return (
      method !== 'private_key_jwt' &&
      readings.some(({ clientId }) => context.options.clients.get(clientId)?.hasGuessableSecret === true)
    );
  }

  /** Whoever is right gets in. */
  async function judge(
    presented: ClientCredentials,
    network: string | null,
    pair: string,
  ): Promise<AuthenticatedClient> {
    const turnedAway = network === null ? ofPair.waitOf(pair) : await beginProof(network, pair);
    try {
      const client = await authenticate(presented, network);
      known.set(pair, true);
      if (network !== null && turnedAway === 0) {
        ofPair.succeeded(pair);
        ofNetwork.succeeded(network);
      }
      return client;
    } catch (error) {
      if (!isFailure(error)) throw error;
      // What was turned away anyway, and what comes from nowhere, costs the store nothing: the names may all be made up.
      if (turnedAway > 0 || network === null) ofPair.failedHere(pair);
      else await Promise.all([ofPair.failed(pair), ofNetwork.failed(network)]);
      check(turnedAway);
      throw error;
    }
  }

  /** The seconds for which whoever is wrong has to wait: because of its network, or else of its client there. */
  async function beginProof(network: string, pair: string): Promise<number> {
    const wait = known.get(pair) === true ? 0 : await ofNetwork.begin(network);
    return wait > 0 ? wait : ofPair.begin(pair);
  }

  /** Held before anything is judged. Whoever does not know addresses counts clients alone, and more patiently: strangers could lock them out. */
  async function judgeGuess(
    presented: ClientCredentials,
    network: string | null,
    pair: string,
  ): Promise<AuthenticatedClient> {
    const own = network === null ? ofNetwork : ofGuesses;
    check(await own.begin(pair));
    const isKnown = known.get(pair) === true;
    const turnedAway = network === null || isKnown ? 0 : await ofNetwork.begin(network);
    try {
      const client = await authenticate(presented, network);
      // Of many guesses at once, those that come after the last one allowed may not succeed either.
      if (!isKnown) check(own.waitOf(pair));
      known.set(pair, true);
      own.succeeded(pair);
      if (network !== null && !isKnown && turnedAway === 0) ofNetwork.succeeded(network);
      return client;
    } catch (error) {
      if (!isFailure(error)) throw error;
      // Clients of the configuration are few: what is guessed of one is counted in the store whatever else is true.
      await Promise.all([
        own.failed(pair),
        network === null || turnedAway > 0 ? undefined : ofNetwork.failed(network),
      ]);
      check(turnedAway);
      throw error;
    }
  }
}

function isFailure(error: unknown): boolean {
  return error instanceof OAuthError && error.code === 'invalid_client';
}

/** What is kept of a pair: the text itself, or its hash where a stranger made it long. */
function nameOf(network: string | null, clientId: string): string {
  const name = `${network} ${clientId}`;
  return name.length > LONGEST_NAME ? hashSecret(name) : name;
}

function check(wait: number): void {
  if (wait > 0) throw tooManyRequests('too many failed authentications', wait);
}
