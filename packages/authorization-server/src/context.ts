/** The dependencies that every part of the authorization server shares: options, store, clock and audit events. */
import type { EventSink } from './audit/events.ts';
import type { ServerOptions } from './options.ts';
import type { LimitRegistry } from './rate-limit/limit-registry.ts';
import type { AuthorizationStore } from './store/index.ts';

/** A function takes the members that it uses: `Pick<ServerContext, 'store' | 'clock'>`. */
export interface ServerContext {
  readonly options: ServerOptions;
  readonly store: AuthorizationStore;
  /** Returns epoch seconds. */
  readonly clock: () => number;
  readonly events: EventSink;
  /** What is counted in this process. */
  readonly limits: LimitRegistry;
}
