/** A server of the gateway as it serves requests, and the backend behind it. */

import type { Catalogue } from './catalogue/catalogue.ts';
import type { CallRate, OpenRequests, ServerSlots } from './http/slots.ts';
import type { ServerPath } from './message-path.ts';
import type { ServerControl } from './server-control.ts';
import type { GatewayServer } from './servers/server.ts';

/** A server and the services that handle its requests. */
export interface ServedServer extends Readonly<Omit<RunningBackend, 'catalogue' | 'control'>> {
  /** `null` for servers that merge others. */
  readonly backend: RunningBackend | null;
  readonly control: ServedControl;
}

/** What decides about the requests of a server, and filters its responses. */
export type ServedControl = Omit<ServerControl, 'filter' | 'decideMethod'>;

/** The connections, processes, sessions and lists of tools of one backend. */
export interface RunningBackend {
  /** As it is now: its name and limits are read when they are needed. */
  readonly server: GatewayServer;
  readonly path: ServerPath;
  readonly slots: ServerSlots;
  /** The requests that use the path. */
  readonly open: OpenRequests;
  /** `null`: tools are neither reviewed nor compared with what the backend lists. */
  readonly catalogue: Catalogue | null;
  /** The rules of the server as it is now. */
  control: ServerControl;
  /** `null`: calls are not limited. */
  rate: CallRate | null;
}
