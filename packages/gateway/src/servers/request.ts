/** An authorized request to a server: the input of every later step of the gateway. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '@portcullis/resource-server';
import type { Owner } from './owner.ts';
import type { GatewayServer } from './server.ts';

/** The owner and the server of a request. */
export interface OwnedRequest {
  readonly server: GatewayServer;
  /** Verified by the guard for this server, or for one that merges it. */
  readonly principal: Principal;
  readonly owner: Owner;
}

/** A request to a server of the gateway, with its owner. */
export interface GatewayRequest extends OwnedRequest {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Milliseconds of `performance.now()` at which it arrived. */
  readonly startedAt: number;
}
