/** The dependencies that every part of the authorization server shares: options, store, clock and audit events. */
import type { EventSink } from './audit/events.ts';
import type { AuthorizationServerOptions, ServerOptions } from './options.ts';
import type { AuthorizationStore } from './store/index.ts';
import { validateOptions } from './validate-options.ts';

/** A function takes the members that it uses: `Pick<ServerContext, 'store' | 'clock'>`. */
export interface ServerContext {
  readonly options: ServerOptions;
  readonly store: AuthorizationStore;
  /** Returns epoch seconds. */
  readonly clock: () => number;
  readonly events: EventSink;
}

/** @throws ConfigurationError with every issue of the options */
export function createServerContext(options: AuthorizationServerOptions): ServerContext {
  return {
    options: validateOptions(options),
    store: options.store,
    clock: options.clock ?? (() => Math.floor(Date.now() / 1000)),
    events: options.events ?? (() => {}),
  };
}
