/** The request in which something happens: known to every event of it, however deep inside. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { ConnectionInfo } from '@portcullis/http';
import { networkPrefixOf } from '@portcullis/protocol';
import type { EventCorrelation } from './correlation.ts';
import type { EventSink } from './events.ts';

const moments = new AsyncLocalStorage<ConnectionInfo>();

/** Runs the work of a request of somebody. */
export function withRequestContext<T>(connection: ConnectionInfo, work: () => Promise<T>): Promise<T> {
  return moments.run(connection, work);
}

/** Adds to events what is known of their request, the network that it came from, and what they belong to. */
export function withCorrelation(sink: EventSink, trail: EventCorrelation): EventSink {
  return (event) => {
    const address = moments.getStore()?.address;
    const network = address === undefined ? null : networkPrefixOf(address);
    sink(trail.correlate(network === null ? event : { ...event, network }));
  };
}
