/** Audit events about the server itself, which the plots of the console mark. */
import type { ComponentEvent } from '@portcullis/authorization-server';

/** The server started, or switched to the servers of a changed configuration file. */
export type LifecycleEvent = ComponentEvent &
  (
    | { readonly type: 'server.started'; readonly version: string }
    /** `servers`: how many there are. */
    | { readonly type: 'configuration.reloaded'; readonly servers: number }
  );
