/** The request in which something happens: known to every event of it, however deep inside. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { networkOf } from '@portcullis/protocol';
import type { EventSink } from '../events.ts';
import type { Peer } from '../routes.ts';
import type { Trail } from './trail.ts';

const moments = new AsyncLocalStorage<Peer>();

/** Runs the work of a request of somebody. */
export function inMomentOf<T>(peer: Peer, work: () => Promise<T>): Promise<T> {
  return moments.run(peer, work);
}

/** Adds to events what is known of their request, the network that it came from, and what they belong to. */
export function withMoment(sink: EventSink, trail: Trail): EventSink {
  return (event) => {
    const address = moments.getStore()?.address;
    const network = address === undefined ? null : networkOf(address);
    sink(trail.join(network === null ? event : { ...event, network }));
  };
}
