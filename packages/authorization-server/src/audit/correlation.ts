/** Joins what belongs together, from the metadata that a client reads to its first call, as far as this process saw it. */

import type { AccessTokenClaims } from '@portcullis/protocol';
import { createLruCache } from '../lru-cache.ts';
import type { AuthorizationEvent, EventSink, MetadataDiscovery } from './events.ts';

/** The liveness check of access tokens that a first use passes through. */
type LivenessCheck = (
  claims: Pick<AccessTokenClaims, 'jti' | 'iat' | 'client_id' | 'grant_id'>,
) => Promise<boolean>;

export interface EventCorrelation {
  /** The event with what is known of its flow. */
  correlate(event: AuthorizationEvent): AuthorizationEvent;
  /** The same check, which also reports the first use of a grant as an event. */
  watchFirstUse(isLive: LivenessCheck, events: EventSink): LivenessCheck;
}

/** Seconds between the reading of metadata and the authorization request that it led to: a registration, and a browser's start. */
const WINDOW = 120;

/** A grant that nobody has called with yet, and what is known of it. */
type Uncalled = Pick<AuthorizationEvent, 'clientId' | 'accountId' | 'grantId' | 'resource' | 'transactionId'>;

/**
 * A client says nothing by which its reading of metadata and its authorization request could be told to be of one flow, so
 * they are joined by network and time, and the event says so. From there the identifier of the request leads on.
 * @param clock epoch seconds
 */
export function createEventCorrelation(clock: () => number): EventCorrelation {
  const readings = createLruCache<Omit<MetadataDiscovery, 'before'> & { readonly at: number }>();
  const flows = createLruCache<string>();
  const uncalled = createLruCache<Uncalled>();

  function findDiscovery(network: string): MetadataDiscovery | null {
    const found = readings.get(network);
    if (found === undefined) return null;
    const before = clock() - found.at;
    return before > WINDOW ? null : { path: found.path, version: found.version, before };
  }

  function learn(event: AuthorizationEvent): void {
    const { type, grantId, transactionId, network } = event;
    if (type === 'metadata.read' && network !== undefined) {
      readings.set(network, { path: event.path, version: event.version, at: clock() });
    }
    if (type === 'authorization_code.issued' && grantId !== undefined && transactionId !== undefined)
      flows.set(grantId, transactionId);
    if (type === 'token.issued' && grantId !== undefined) {
      const { clientId, accountId, resource } = event;
      const ofFlow = transactionId ?? flows.get(grantId);
      uncalled.set(grantId, {
        grantId,
        ...(ofFlow !== undefined && { transactionId: ofFlow }),
        ...(clientId !== undefined && { clientId }),
        ...(accountId !== undefined && { accountId }),
        ...(resource !== undefined && { resource }),
      });
    }
  }

  return {
    correlate(event) {
      learn(event);
      const { grantId, transactionId = grantId === undefined ? undefined : flows.get(grantId) } = event;
      const joined = transactionId === undefined ? event : { ...event, transactionId };
      // The last of its flow: from here on, for months maybe, the grant is what joins.
      if (event.type === 'refresh_token.rotated' && grantId !== undefined) flows.delete(grantId);
      if (joined.type !== 'authorization.started' || joined.network === undefined) return joined;
      const discovery = findDiscovery(joined.network);
      return discovery === null ? joined : { ...joined, discovery };
    },
    watchFirstUse: (isLive, events) => async (claims) => {
      const stands = await isLive(claims);
      const about = stands && claims.grant_id !== undefined ? uncalled.get(claims.grant_id) : undefined;
      if (about?.grantId !== undefined) {
        uncalled.delete(about.grantId);
        events({ type: 'token.first_used', ...about });
      }
      return stands;
    },
  };
}
