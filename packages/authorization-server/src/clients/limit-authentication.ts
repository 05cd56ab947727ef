/** Authentication of clients, limited in its failures: nobody guesses a secret, and nobody elsewhere locks a client out. */
import type { Asked } from '@portcullis/http';
import { networkOf, OAuthError, type Parameters, tooMany } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { LimitRules } from '../limits/limit-options.ts';
import { createSharedFailures } from '../limits/shared-failures.ts';
import { createMemory } from '../memory.ts';
import type { Peer } from '../routes.ts';
import { hashSecret } from '../secrets.ts';
import type { Authenticate, AuthenticatedClient } from './authenticate.ts';
import { type Presented, readPresented } from './presented.ts';

/** Authenticates a client, unless that failed too often. Throws `OAuthError`. */
export type LimitedAuthenticate = (
  request: Asked,
  form: Parameters,
  peer: Peer,
) => Promise<AuthenticatedClient>;

/** Limits what authenticates, as the configuration says; `null` there: nothing is counted, and no network is known. */
export function limitAuthentication(
  configuration: Pick<Configuration, 'store' | 'clock' | 'limits'>,
  authenticate: Authenticate,
): LimitedAuthenticate {
  const { limits } = configuration;
  if (limits === null) return (request, form) => authenticate(presentedBy(request, form), null);
  return holdToLimits(configuration, limits, authenticate);
}

function presentedBy({ headers }: Asked, form: Parameters): Presented {
  return readPresented(headers.get('authorization'), form);
}

/** Pairs of client and network that have authenticated: the last ones are remembered. */
const REMEMBERED = 50_000;
const LONGEST_NAME = 100;

/**
 * The authorization server MUST protect a client that uses a secret against brute force. Failures are counted by client and
 * network, so that nobody elsewhere can lock a client out, and by network for those who try many clients: there too many wrong
 * ones turn away all that are wrong, but nobody who is right, since a platform with all its clients may be one network.
 * @see OAuth 2.1 draft 13 §2.4.1
 */
function holdToLimits(
  configuration: Pick<Configuration, 'store' | 'clock'>,
  rules: LimitRules,
  authenticate: Authenticate,
): LimitedAuthenticate {
  const ofPair = createSharedFailures(configuration, 'client at network', rules.clientFailures);
  const ofNetwork = createSharedFailures(configuration, 'clients at network', rules.networkFailures);
  const known = createMemory<true>(REMEMBERED);

  return (request, form, { address }) => {
    const presented = presentedBy(request, form);
    const network = address === undefined ? null : networkOf(address);
    // A client without a secret has none that could be guessed.
    return presented.method === 'none' ? authenticate(presented, network) : prove(presented, network);
  };

  async function prove(presented: Presented, network: string | null): Promise<AuthenticatedClient> {
    const pair = nameOf(network, presented.readings[0]?.clientId ?? '');
    // Whoever does not know addresses counts clients alone, and more patiently: strangers could lock them out.
    const own = network === null ? ofNetwork : ofPair;
    const wait = own.begin(pair);
    check(typeof wait === 'number' ? wait : await wait);
    const isKnown = known.get(pair) === true;
    const begun = network === null || isKnown ? 0 : ofNetwork.begin(network);
    const turnedAway = typeof begun === 'number' ? begun : await begun;
    try {
      const client = await authenticate(presented, network);
      // Of many guesses at once, those that come after the last one allowed may not succeed either.
      if (!isKnown) check(own.waitOf(pair));
      known.set(pair, true);
      own.succeeded(pair);
      if (network !== null && !isKnown && turnedAway === 0) ofNetwork.succeeded(network);
      return client;
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'invalid_client') throw error;
      await Promise.all([own.failed(pair), network === null ? undefined : ofNetwork.failed(network)]);
      check(turnedAway);
      throw error;
    }
  }
}

/** What is kept of a pair: the text itself, or its hash where a stranger made it long. */
function nameOf(network: string | null, clientId: string): string {
  const name = `${network} ${clientId}`;
  return name.length > LONGEST_NAME ? hashSecret(name) : name;
}

function check(wait: number): void {
  if (wait > 0) throw tooMany('too many failed authentications', wait);
}
