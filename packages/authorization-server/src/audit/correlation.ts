/** Correlates audit events: with their request's network, and along one authorization from discovery to the first use of its token. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ConnectionInfo } from '@portcullis/http';
import { createLruCache, currentTracer, networkPrefixOf } from '@portcullis/protocol';
import type { AuthorizationEvent, ComponentEvent, EventSink, MetadataDiscovery } from './events.ts';

const requestContext = new AsyncLocalStorage<ConnectionInfo>();

/** Runs the work of a request, so that all events it emits are correlated with its connection. */
export function withRequestContext<T>(connection: ConnectionInfo, work: () => Promise<T>): Promise<T> {
  return requestContext.run(connection, work);
}

/** The event with the network and the trace of the request that is handled now. */
function withRequest<Event extends ComponentEvent>(event: Event): Event {
  const address = requestContext.getStore()?.address;
  const network = address === undefined ? null : networkPrefixOf(address);
  const traceId = 'traceId' in event ? null : (currentTracer()?.active()?.traceId ?? null);
  const located = network === null ? event : { ...event, network };
  return traceId === null ? located : { ...located, traceId };
}

/** A sink for events with the network and trace of their request, and what they are correlated with. */
export function withCorrelation(sink: EventSink, correlation: EventCorrelation): EventSink {
  return (event) => sink(correlation.correlate(withRequest(event)));
}

export type EventCorrelation = ReturnType<typeof createEventCorrelation>;

/** Seconds between reading metadata and the authorization request it led to: a registration and the start of a browser. */
const DISCOVERY_WINDOW = 120;

/** The members of `token.issued` that `token.first_used` repeats. */
type UnusedGrant = Pick<
  AuthorizationEvent,
  'clientId' | 'accountId' | 'grantId' | 'resource' | 'transactionId'
>;

/**
 * Nothing in a client's metadata requests identifies its later authorization request, so the two are correlated by network and
 * time, and the event names both. From there on the transaction id correlates.
 * @param clock epoch seconds
 */
export function createEventCorrelation(clock: () => number) {
  const metadataReads = createLruCache<Omit<MetadataDiscovery, 'before'> & { readonly at: number }>();
  const transactions = createLruCache<string>();
  const unusedGrants = createLruCache<UnusedGrant>();

  function findDiscovery(network: string): MetadataDiscovery | null {
    const found = metadataReads.get(network);
    if (found === undefined) return null;
    const before = clock() - found.at;
    return before > DISCOVERY_WINDOW ? null : { path: found.path, version: found.version, before };
  }

  function learn(event: AuthorizationEvent): void {
    const { type, grantId, transactionId, network } = event;
    if (type === 'metadata.read' && network !== undefined) {
      metadataReads.set(network, { path: event.path, version: event.version, at: clock() });
    }
    if (grantId === undefined) return;
    if (type === 'authorization_code.issued' && transactionId !== undefined) {
      transactions.set(grantId, transactionId);
    }
    if (type === 'token.issued') unusedGrants.set(grantId, event);
  }

  function withTransaction<Event extends ComponentEvent>(event: Event): Event {
    const { grantId, transactionId = grantId === undefined ? undefined : transactions.get(grantId) } = event;
    return transactionId === undefined ? event : { ...event, transactionId };
  }

  return {
    /** The event with the transaction and discovery it belongs to, as far as this process knows. */
    correlate(event: AuthorizationEvent): AuthorizationEvent {
      const { grantId } = event;
      const correlated = withTransaction(event);
      learn(correlated);
      // The last event of its transaction: from here on, maybe for months, the grant id correlates.
      if (
        event.type === 'refresh_token.rotated' &&
        grantId !== undefined &&
        correlated.transactionId !== undefined
      )
        transactions.delete(grantId);
      if (correlated.type !== 'authorization.started' || correlated.network === undefined) return correlated;
      const discovery = findDiscovery(correlated.network);
      return discovery === null ? correlated : { ...correlated, discovery };
    },
    /** The same for an event of another component, from which nothing is learned, with the network and trace of its request. */
    correlateOf: <Event extends ComponentEvent>(event: Event): Event => withTransaction(withRequest(event)),
    /** The same check; the first use of a grant's token becomes an event. */
    watchFirstUse:
      <Claims extends { readonly grant_id?: string | undefined }>(
        isLive: (claims: Claims) => Promise<boolean>,
        events: EventSink,
      ): ((claims: Claims, isIntrospected?: boolean) => Promise<boolean>) =>
      (claims, isIntrospected = false) => {
        const grantId = claims.grant_id;
        // Most tokens have been used before.
        if (grantId === undefined || unusedGrants.get(grantId) === undefined) return isLive(claims);
        return isLive(claims).then((live) => {
          const grant = live ? unusedGrants.get(grantId) : undefined;
          if (grant === undefined) return live;
          unusedGrants.delete(grantId);
          const how = isIntrospected ? { introspected: true } : {};
          events({ type: 'token.first_used', ...how, ...describeGrant(grant) });
          return live;
        });
      },
  };
}

function describeGrant({ transactionId, clientId, accountId, grantId, resource }: UnusedGrant): UnusedGrant {
  return {
    ...(transactionId !== undefined && { transactionId }),
    ...(clientId !== undefined && { clientId }),
    ...(accountId !== undefined && { accountId }),
    ...(grantId !== undefined && { grantId }),
    ...(resource !== undefined && { resource }),
  };
}
