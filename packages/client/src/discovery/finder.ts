/** Finding out how the server of a client is authorized: it is made to say what it wants, and everything follows from that. */

import type { Configuration } from '../configuration.ts';
import { ClientError } from '../errors.ts';
import { discard, type Wire } from '../transport.ts';
import { askServer, type ServerChallenge, understandServer } from './challenge.ts';
import type { Discovery } from './conclude.ts';
import { discover } from './discover.ts';

export interface Finder {
  /**
   * Asks the server without a token, so that it says what it wants.
   * @throws ClientError `unreachable`
   */
  provoke(): Promise<ServerChallenge>;
  /** Discovers from what the server said, and tells what was found. @throws ClientError */
  find(challenge: ServerChallenge): Promise<Discovery>;
  /** Both, one after the other. @throws ClientError */
  findNow(): Promise<Discovery>;
}

/** Makes the finder of a client. */
export function createFinder(configuration: Configuration, wire: Wire): Finder {
  const { server, tell } = configuration;
  const order = configuration.orderAuthorizationServers ?? createKnownFirst(configuration);
  const settings = { ...configuration, wire, order };

  return { provoke, find, findNow: async () => find(await provoke()) };

  async function provoke(): Promise<ServerChallenge> {
    const signal = AbortSignal.timeout(configuration.limits.timeout);
    const { url, headers } = askServer(server);
    try {
      const response = await configuration.fetch(url, { headers, redirect: 'manual', signal });
      await discard(response);
      return understandServer(response);
    } catch (cause) {
      if (cause instanceof ClientError) throw cause;
      throw new ClientError('unreachable', `${new URL(server).origin} could not be reached.`, { cause });
    }
  }

  async function find(challenge: ServerChallenge): Promise<Discovery> {
    const discovery = await discover(settings, server, challenge);
    const { issuer, profile, resource, endpoints } = discovery;
    tell({ type: 'discovered', server, issuer, revision: profile.revision, resource, endpoints });
    return discovery;
  }
}

/** Where the person has been before comes first; then the order in which the server names them. */
function createKnownFirst({ registration, store, server, account }: Configuration) {
  const configured = (registration.preregistered ?? []).map(({ issuer }) => issuer);
  return async (issuers: readonly string[]): Promise<readonly string[]> => {
    const records = await store.list(server, account);
    const isKnown = (issuer: string): boolean =>
      configured.includes(issuer) || records.some(({ key }) => key.issuer === issuer);
    return [...issuers.filter(isKnown), ...issuers.filter((issuer) => !isKnown(issuer))];
  };
}
