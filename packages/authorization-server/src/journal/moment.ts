/** The request in which something happens: known to every event of it, however deep inside. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { networkOf } from '@portcullis/protocol';
import type { AuthorizationEvent, EventSink } from '../events.ts';
import type { Peer } from '../routes.ts';

const moments = new AsyncLocalStorage<Peer>();

/** Runs the work of a request of somebody. */
export function inMomentOf<T>(peer: Peer, work: () => Promise<T>): Promise<T> {
  return moments.run(peer, work);
}

/** Grants whose authorization request is remembered by a process, so that their first tokens name it too. */
const MOST_FLOWS = 10_000;

/** Adds to events what is known of their request: the network that it came from, and the authorization request it belongs to. */
export function withMoment(sink: EventSink): EventSink {
  const flows = new Map<string, string>();
  return (event) => {
    const { grantId, flowId = grantId === undefined ? undefined : flows.get(grantId) } = event;
    if (event.type === 'code.issued' && grantId !== undefined && flowId !== undefined) {
      const [oldest] = flows.keys();
      if (flows.size >= MOST_FLOWS && oldest !== undefined) flows.delete(oldest);
      flows.set(grantId, flowId);
    }
    const address = moments.getStore()?.address;
    const network = address === undefined ? null : networkOf(address);
    const known: Pick<AuthorizationEvent, 'flowId' | 'network'> = {
      ...(flowId !== undefined && { flowId }),
      ...(network !== null && { network }),
    };
    sink({ ...event, ...known });
  };
}
