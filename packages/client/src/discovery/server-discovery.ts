/** Finding out how the server of a client is authorized: it is made to say what it wants, and everything follows from that. */

import { ClientError } from '../errors.ts';
import type { ClientSettings } from '../settings.ts';
import { discard, type Transport } from '../transport.ts';
import { challengeRequest, processChallengeResponse, type ServerChallenge } from './challenge.ts';
import { discover } from './discover.ts';
import type { DiscoveryResult } from './discovery-result.ts';

export interface ServerDiscovery {
  /**
   * Asks the server without a token, so that it says what it wants.
   * @throws ClientError `unreachable`
   */
  requestChallenge(): Promise<ServerChallenge>;
  /** Discovers from what the server said, and tells what was found. @throws ClientError */
  discoverFrom(challenge: ServerChallenge): Promise<DiscoveryResult>;
  /** Both, one after the other. @throws ClientError */
  discover(): Promise<DiscoveryResult>;
}

/** Makes the finder of a client. */
export function createServerDiscovery(configuration: ClientSettings, transport: Transport): ServerDiscovery {
  const { server, emit: tell } = configuration;
  const order = configuration.orderAuthorizationServers ?? createKnownFirst(configuration);
  const settings = { ...configuration, transport, order };

  return { requestChallenge, discoverFrom, discover: async () => discoverFrom(await requestChallenge()) };

  async function requestChallenge(): Promise<ServerChallenge> {
    const signal = AbortSignal.timeout(configuration.limits.timeout);
    const { url, headers } = challengeRequest(server);
    try {
      const response = await configuration.fetch(url, { headers, redirect: 'manual', signal });
      await discard(response);
      return processChallengeResponse(response);
    } catch (cause) {
      if (cause instanceof ClientError) throw cause;
      throw new ClientError('unreachable', `${new URL(server).origin} could not be reached.`, { cause });
    }
  }

  async function discoverFrom(challenge: ServerChallenge): Promise<DiscoveryResult> {
    const discovery = await discover(settings, server, challenge);
    const { issuer, profile, resource, endpoints } = discovery;
    tell({ type: 'discovery.completed', server, issuer, revision: profile.revision, resource, endpoints });
    return discovery;
  }
}

/** Where the person has been before comes first; then the order in which the server names them. */
function createKnownFirst({ registration, store, server, account }: ClientSettings) {
  const configured = (registration.preregistered ?? []).map(({ issuer }) => issuer);
  return async (issuers: readonly string[]): Promise<readonly string[]> => {
    const records = await store.list(server, account);
    const isKnown = (issuer: string): boolean =>
      configured.includes(issuer) || records.some(({ key }) => key.issuer === issuer);
    return [...issuers.filter(isKnown), ...issuers.filter((issuer) => !isKnown(issuer))];
  };
}
