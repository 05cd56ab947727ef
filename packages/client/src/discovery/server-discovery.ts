/** Discovery for the server of a client: provokes its challenge, discovers from it, and prefers issuers it already knows. */
import { ClientError } from '../errors.ts';
import type { ClientSettings } from '../settings.ts';
import { discardBody, type Transport } from '../transport.ts';
import { challengeRequest, processChallengeResponse, type ServerChallenge } from './challenge.ts';
import { discover } from './discover.ts';
import type { DiscoveryResult } from './discovery-result.ts';

export interface ServerDiscovery {
  /**
   * Sends a request without a token to get the server's challenge.
   * @throws ClientError `unreachable`
   */
  requestChallenge(): Promise<ServerChallenge>;
  /** Discovers from a challenge. @throws ClientError */
  discoverFrom(challenge: ServerChallenge): Promise<DiscoveryResult>;
  /** Requests the challenge and discovers from it. @throws ClientError */
  discover(): Promise<DiscoveryResult>;
}

/** Creates the discovery of a client. */
export function createServerDiscovery(settings: ClientSettings, transport: Transport): ServerDiscovery {
  const { server, emit } = settings;
  const order = settings.orderAuthorizationServers ?? createKnownFirst(settings);

  return { requestChallenge, discoverFrom, discover: async () => discoverFrom(await requestChallenge()) };

  async function requestChallenge(): Promise<ServerChallenge> {
    const signal = AbortSignal.timeout(settings.limits.timeout);
    const { url, headers } = challengeRequest(server);
    try {
      const response = await settings.fetch(url, { headers, redirect: 'manual', signal });
      await discardBody(response);
      return processChallengeResponse(response);
    } catch (cause) {
      if (cause instanceof ClientError) throw cause;
      throw new ClientError('unreachable', `${new URL(server).origin} could not be reached.`, { cause });
    }
  }

  async function discoverFrom(challenge: ServerChallenge): Promise<DiscoveryResult> {
    const result = await discover({ ...settings, transport, order }, server, challenge);
    const { issuer, profile, resource, endpoints } = result;
    const { revision } = profile;
    emit({ type: 'discovery.completed', server, issuer, revision, resource, endpoints });
    return result;
  }
}

/** Issuers that the client has credentials for come first, then the order of the resource metadata. */
function createKnownFirst({ registration, store, server, account }: ClientSettings) {
  const configured = (registration.preregistered ?? []).map(({ issuer }) => issuer);
  return async (issuers: readonly string[]): Promise<readonly string[]> => {
    const records = await store.list(server, account);
    const isKnown = (issuer: string): boolean =>
      configured.includes(issuer) || records.some(({ key }) => key.issuer === issuer);
    return [...issuers.filter(isKnown), ...issuers.filter((issuer) => !isKnown(issuer))];
  };
}
