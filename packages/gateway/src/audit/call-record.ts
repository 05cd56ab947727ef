/** What is recorded of each call: who called what at which server, what was decided, how long it took, and how it ended. */
import type { GatewayRequest } from '../servers/request.ts';

/** What was decided before anything reached the backend. */
export type CallDecision =
  | 'allowed'
  /** A rule says `false`, or names other clients, groups or claims. */
  | 'denied'
  /** Scopes are missing: the client was challenged for more. */
  | 'insufficient_scope'
  /** A limit of calls, concurrency or size. */
  | 'limited'
  /** A body that is no JSON-RPC, contradicts its headers, or names a handle of another owner. */
  | 'invalid'
  /** The definition of the tool waits for approval. */
  | 'unapproved';

/** How an allowed call ended. */
export type CallOutcome =
  /** The backend answered; `status` says how. */
  | 'answered'
  /** The backend answered with a JSON-RPC error, as far as the gateway reads its messages. */
  | 'error'
  /** The backend got nothing, or nothing complete. */
  | 'refused'
  /** The user has to connect an account at the backend first. */
  | 'connection_required'
  | 'unavailable'
  | 'timeout'
  /** Broken off: a message of the response had to be edited, and was longer than `limits.frame`. */
  | 'too_long'
  /** The client cancelled it or disappeared. */
  | 'cancelled';

/** A call that has ended. */
export interface CallRecord {
  readonly request: Pick<GatewayRequest, 'server' | 'principal' | 'startedAt'>;
  /** The method of the JSON-RPC message; for GET and DELETE the method of HTTP. */
  readonly method: string;
  /** Name of the tool or prompt, or URI of the resource. */
  readonly target: string | null;
  readonly decision: CallDecision;
  readonly outcome: CallOutcome;
  /** Status of the response; `null` if none was sent. */
  readonly status: number | null;
  /** Milliseconds that the backend took, of those that the whole call took. */
  readonly backendMs: number;
  /** Bytes of the bodies. */
  readonly requestBytes: number;
  readonly responseBytes: number;
  /**
   * The arguments as the client sent them, as JSON: hashed, and kept only where the server's options say so. Of a body that was not
   * held only their SHA-256 hash, base64url.
   */
  readonly arguments: Uint8Array | string | null;
}

/** Records calls, after the response: it never throws, and no call waits for it. */
export interface CallAudit {
  record(call: CallRecord): void;
}

/** Records nothing. */
export const noAudit: CallAudit = Object.freeze({ record: () => {} });
