/** What all slices share: core options, store, clock, audit events and limits. A slice adds the options that it reads. */
import type { EventSink } from './audit/events.ts';
import type { CoreOptions } from './core-options.ts';
import type { Encryptor } from './encryption/encryptor.ts';
import type { LimitContext } from './rate-limit/limiter.ts';

/**
 * A function takes the members that it uses: `Pick<ServerContext, 'store' | 'clock'>`; and names the options that it reads:
 */
export interface ServerContext<Options = unknown> extends LimitContext {
  readonly options: CoreOptions & Options;
  readonly events: EventSink;
  /** Encrypts under the master key. */
  readonly encryptor: Encryptor;
}

/** What records are changed with, with or without a running server. */
export type StoreContext = Pick<ServerContext, 'store' | 'clock' | 'events'>;
