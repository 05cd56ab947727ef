/** The limits of this server: each refuses with 429 and says when to come back. */
import { networkOf, OAuthError, type Parameters, tooMany } from '@portcullis/protocol';
import type { Authenticate, AuthenticatedClient } from '../clients/authenticate.ts';
import { type Presented, readPresented } from '../clients/presented.ts';
import type { Configuration } from '../configuration.ts';
import type { Turn } from '../ports/index.ts';
import type { Peer } from '../routes.ts';
import { hashSecret } from '../secrets.ts';
import { type Buckets, createBuckets, type Rate } from './buckets.ts';
import type { LimitRules } from './limit-options.ts';

/** Authenticates a client, unless that failed too often. Throws `OAuthError`. */
export type LimitedAuthenticate = (
  request: Request,
  form: Parameters,
  peer: Peer,
) => Promise<AuthenticatedClient>;

export interface Limits {
  /** @throws OAuthError 429 */
  checkRefresh(grantId: string): void;
  /** @throws OAuthError 429 */
  checkClientToken(clientId: string): void;
  /** @throws OAuthError 429 */
  checkExchange(grantId: string): void;
  limitAuthentication(authenticate: Authenticate): LimitedAuthenticate;
  /** The turn that a registration takes, of its network; `null` when nobody counts it. */
  registrationTurn(peer: Peer): Turn | null;
}

export function createLimits(configuration: Configuration): Limits {
  const { limits } = configuration;
  return limits === null ? unlimited : createLimitsOf(configuration, limits);
}

const unlimited: Limits = {
  checkRefresh() {},
  checkClientToken() {},
  checkExchange() {},
  limitAuthentication: (authenticate) => (request, form) => authenticate(presentedBy(request, form)),
  registrationTurn: () => null,
};

function createLimitsOf(configuration: Configuration, rules: LimitRules): Limits {
  const { clock } = configuration;
  const refreshes = createBuckets(rules.refreshes, clock);
  const clientTokens = createBuckets(rules.clientTokens, clock);
  const exchanges = createBuckets(rules.exchanges, clock);
  return {
    checkRefresh: (grantId) => check(refreshes, grantId, 'refreshes of one grant'),
    checkClientToken: (clientId) => check(clientTokens, clientId, 'tokens of one client'),
    checkExchange: (grantId) => check(exchanges, grantId, 'token exchanges for one grant'),
    limitAuthentication: (authenticate) => limitAuthentication(authenticate, rules, clock),
    registrationTurn: createRegistrationTurn(configuration, rules.registrations),
  };
}

function check(buckets: Buckets, key: string, of: string): void {
  const wait = buckets.take(key);
  if (wait > 0) throw tooMany(`too many ${of}: ${key}`, wait);
}

function presentedBy({ headers }: Request, form: Parameters): Presented {
  return readPresented(headers.get('authorization'), form);
}

/** Pairs of client and network that have authenticated, of which so many are remembered. */
const MOST_KNOWN = 50_000;

/**
 * The authorization server MUST protect a client that uses a secret against brute force. Failures are counted by client and
 * network, so that nobody elsewhere can lock a client out, and by network for those who try many clients; whoever has
 * authenticated from there before is held to the first only.
 * @see OAuth 2.1 draft 13 §2.4.1
 */
function limitAuthentication(
  authenticate: Authenticate,
  rules: LimitRules,
  clock: () => number,
): LimitedAuthenticate {
  const ofPair = createBuckets(rules.clientFailures, clock);
  const ofNetwork = createBuckets(rules.networkFailures, clock);
  const known = new Set<string>();

  return async (request, form, { address }) => {
    const presented = presentedBy(request, form);
    const { method, readings } = presented;
    const clientId = readings[0]?.clientId ?? '';
    // A client without a secret has none that could be guessed.
    if (method === 'none') return authenticate(presented);
    const network = address === undefined ? null : networkOf(address);
    const pair = hashSecret(`${network} ${clientId}`);
    // Whoever does not know addresses counts clients alone, and more patiently: strangers could lock them out.
    const failures = network === null ? ofNetwork : ofPair;
    const wait = Math.max(
      failures.waitOf(pair),
      network === null || known.has(pair) ? 0 : ofNetwork.waitOf(network),
    );
    if (wait > 0) throw tooMany('too many failed authentications', wait);
    try {
      const client = await authenticate(presented);
      if (known.size >= MOST_KNOWN) known.clear();
      known.add(pair);
      return client;
    } catch (error) {
      if (error instanceof OAuthError && error.code === 'invalid_client') {
        failures.take(pair);
        if (network !== null) ofNetwork.take(network);
      }
      throw error;
    }
  };
}

/** Counted by network: what a registration keeps in the store, it keeps there for whoever sent it. */
function createRegistrationTurn(
  { clock }: Configuration,
  { burst, perMinute }: Rate,
): Limits['registrationTurn'] {
  const limit = { burst, interval: Math.max(1, Math.round(60 / perMinute)) };
  return ({ address }) => {
    const network = address === undefined ? null : networkOf(address);
    return network === null ? null : { key: hashSecret(`registration ${network}`), limit, now: clock() };
  };
}
