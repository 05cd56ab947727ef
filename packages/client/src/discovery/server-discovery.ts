/** Discovery for the server of a client: provokes its challenge, discovers from it, and prefers issuers it already knows. */
import { authorizationBaseUrl, beforeAbort } from '@portcullis/protocol';
import { ClientError, sanitizeText } from '../errors.ts';
import type { ClientEvent } from '../events.ts';
import type { CredentialStore } from '../storage/credential-store.ts';
import { discardBody, type Fetch, type Transport } from '../transport.ts';
import { challengeRequest, processChallengeResponse, type ServerChallenge } from './challenge.ts';
import { type DiscoverySettings, discover } from './discover.ts';
import type { DiscoveryResult } from './discovery-result.ts';

export type ServerDiscovery = ReturnType<typeof createServerDiscovery>;

/** The settings of a client that its discovery uses. */
interface ServerDiscoverySettings extends Omit<DiscoverySettings, 'transport' | 'order'> {
  /** Canonical URL of the server. */
  readonly server: string;
  readonly account: string;
  readonly store: CredentialStore;
  readonly fetch: Fetch;
  /** Milliseconds. */
  readonly limits: { readonly timeout: number };
  /** `null`: issuers that the client has credentials for come first. */
  readonly orderAuthorizationServers: DiscoverySettings['order'] | null;
  /** The issuers of configured clients. */
  readonly registration: { readonly preregistered?: readonly { readonly issuer?: string }[] };
  readonly emit: (event: ClientEvent) => void;
}

/** Creates the discovery of a client. */
export function createServerDiscovery(settings: ServerDiscoverySettings, transport: Transport) {
  const { server, emit } = settings;
  const order = settings.orderAuthorizationServers ?? createKnownFirst(settings);

  return {
    requestChallenge,
    discoverFrom,
    /** Requests the challenge and discovers from it. @throws ClientError */
    discover: async (): Promise<DiscoveryResult> => discoverFrom(await requestChallenge(), 'user'),
  };

  /**
   * Sends a request without a token to get the server's challenge.
   * @throws ClientError `unreachable`
   */
  async function requestChallenge(): Promise<ServerChallenge> {
    const signal = AbortSignal.timeout(settings.limits.timeout);
    const { url, headers } = challengeRequest(server);
    try {
      const sent = settings.fetch(url, { headers, redirect: 'manual', signal });
      const response = await beforeAbort(sent, signal);
      void discardBody(response);
      return processChallengeResponse(response);
    } catch (cause) {
      if (cause instanceof ClientError) throw cause;
      throw new ClientError('unreachable', `${new URL(server).origin} could not be reached.`, { cause });
    }
  }

  /**
   * Discovers from a challenge.
   * @param startedBy starts the sign-in. Only a user may leave an issuer for the server's own origin.
   * @throws ClientError as `discover`, and `metadata_missing` when the client would have to fall back to the server's own
   * origin although it has credentials of another issuer
   */
  async function discoverFrom(
    challenge: ServerChallenge,
    startedBy: 'user' | 'client',
  ): Promise<DiscoveryResult> {
    const result = await discover({ ...settings, transport, order }, server, challenge);
    if (startedBy === 'client') await checkFallback(settings, result);
    const { issuer, profile, resource, endpoints } = result;
    const { revision } = profile;
    emit({ type: 'discovery.completed', server, issuer, revision, resource, endpoints });
    return result;
  }
}

/**
 * A server that stops publishing its metadata must not receive registrations, codes or secrets at its own origin while
 * the session is with another issuer (downgrade). A session at the own origin was started by the user.
 */
async function checkFallback(
  { profile, store, account }: ServerDiscoverySettings,
  { server, issuer, resourceMetadata }: DiscoveryResult,
): Promise<void> {
  const own = authorizationBaseUrl(server);
  // A pinned revision is the decision of the host for the server's own origin.
  if (resourceMetadata !== null || (profile !== null && issuer === own)) return;
  const records = await store.list(server, account);
  if (records.some(({ key, tokens }) => key.issuer === issuer && tokens !== null)) return;
  // Credentials of the server's own origin are its own already.
  const other = records.find(({ key }) => key.issuer !== issuer && key.issuer !== own);
  if (other === undefined) return;
  throw new ClientError(
    'metadata_missing',
    `${server} publishes no protected resource metadata, but its authorization server was ` +
      `${sanitizeText(other.key.issuer)}. Nothing was sent to ${sanitizeText(issuer)} instead, and stored credentials are kept. ` +
      'If this change is intended, sign in again.',
  );
}

/** Issuers that the client has credentials for come first, then the order of the resource metadata. */
function createKnownFirst({ registration, store, server, account }: ServerDiscoverySettings) {
  const configured = (registration.preregistered ?? []).map(({ issuer }) => issuer);
  return async (issuers: readonly string[]): Promise<readonly string[]> => {
    const records = await store.list(server, account);
    const isKnown = (issuer: string): boolean =>
      configured.includes(issuer) || records.some(({ key }) => key.issuer === issuer);
    return [...issuers.filter(isKnown), ...issuers.filter((issuer) => !isKnown(issuer))];
  };
}
