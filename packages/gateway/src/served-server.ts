/** A server of the gateway as it serves requests, and the backend behind it. */

import type { Catalogue } from './catalogue/catalogue.ts';
import type { BackendCredential } from './credentials/credential-source.ts';
import type { CallRate, OpenRequests, ServerSlots } from './http/slots.ts';
import type { MergedPart } from './merged/merged-server.ts';
import type { ScannedBody } from './messages/scanned-message.ts';
import type { DecidedBody, UnapprovedCall } from './policy/check-messages.ts';
import type { ServerControl } from './server-control.ts';
import type { ServerPath } from './server-path.ts';
import type { GatewayRequest } from './servers/request.ts';
import type { GatewayServer } from './servers/server.ts';

/** A server and the services that handle its requests. */
export interface ServedServer {
  readonly server: GatewayServer;
  /** For servers that merge it; `null` for those themselves. */
  readonly part: MergedPart | null;
  readonly path: ServerPath;
  readonly slots: ServerSlots;
  /** The requests that use the path. */
  readonly open: OpenRequests;
  /** `null` for servers that merge others. */
  readonly backend: RunningBackend | null;
  /** `null`: calls are not limited. */
  readonly rate: CallRate | null;
  /**
   * Checks that need neither a credential nor the backend: operations that are never allowed.
   * @throws MessageError
   */
  readonly checkRules: (request: GatewayRequest, body: ScannedBody) => void;
  /** Whether the whole body is needed to decide. */
  readonly readsArguments: (body: ScannedBody) => boolean;
  /**
   * Decides whether the messages of a body may pass: scopes, approved tools.
   * @returns the call that has to be approved; `null`: all may pass
   * @throws PolicyError, MessageError
   */
  readonly checkMessages: CheckMessages;
  /** Filters the lists in a response. */
  readonly editResponse: (
    message: unknown,
    request: GatewayRequest,
    credential: BackendCredential,
  ) => unknown;
}

type CheckMessages = (
  request: GatewayRequest,
  body: DecidedBody,
  credential: BackendCredential,
) => UnapprovedCall | null | Promise<UnapprovedCall | null>;

/** The connections, processes, sessions and lists of tools of one backend. */
export interface RunningBackend {
  /** As it is now: its name and limits are read when they are needed. */
  readonly server: GatewayServer;
  readonly path: ServerPath;
  readonly slots: ServerSlots;
  readonly open: OpenRequests;
  /** `null`: tools are neither reviewed nor compared with what the backend lists. */
  readonly catalogue: Catalogue | null;
  /** The rules of the server as it is now. */
  control: ServerControl;
  /** `null`: calls are not limited. */
  rate: CallRate | null;
}
