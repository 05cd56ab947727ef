/** The record of each call: owner, server, operation, decision, duration and outcome. */
import type { Explanation } from '@portcullis/policy';
import type { GatewayRequest } from '../servers/request.ts';

/** The decision, before anything reached the backend. */
export type CallDecision =
  | 'allowed'
  /** A rule says `false`, or names other clients, groups or claims. */
  | 'denied'
  /** Scopes are missing: the client was challenged for more. */
  | 'insufficient_scope'
  /** There was no token, and the operation is not public. */
  | 'challenged'
  /** The user has to sign in otherwise or again, or the client has to bind the token to a key. */
  | 'step_up'
  /** The call waits for an approval. */
  | 'approval_required'
  /** An approver denied the call. */
  | 'approval_denied'
  /** A limit of calls, concurrency or size. */
  | 'limited'
  /** A body that is not JSON-RPC, contradicts its headers, or contains a sealed ID of another owner. */
  | 'invalid'
  /** The definition of the tool waits for approval. */
  | 'unapproved';

/** How an allowed call ended. */
export type CallOutcome =
  /** The backend responded with `status`. */
  | 'answered'
  /** The backend responded with a JSON-RPC error, as far as the gateway reads its messages. */
  | 'error'
  /** The backend did not get the complete request. */
  | 'refused'
  /** The user has to connect an account at the backend first. */
  | 'connection_required'
  | 'unavailable'
  | 'timeout'
  /** Aborted: a message that had to be edited exceeded `limits.frame`. */
  | 'too_long'
  /** The client cancelled it or disappeared. */
  | 'cancelled';

/** A call that has ended. */
export interface CallRecord {
  readonly request: Pick<GatewayRequest, 'server' | 'principal' | 'owner' | 'startedAt'>;
  /** The method of the JSON-RPC message; for GET and DELETE the method of HTTP. */
  readonly method: string;
  /** Name of the tool or prompt, or URI of the resource. */
  readonly target: string | null;
  readonly decision: CallDecision;
  /** The rule that refused it; `null`: allowed, or not refused by a rule. */
  readonly because: Explanation | null;
  readonly outcome: CallOutcome;
  /** IDs of the approvals that it has used. */
  readonly approvals: readonly string[];
  /** Status of the response; `null` if none was sent. */
  readonly status: number | null;
  /** Milliseconds spent at the backend, out of those of the whole call. */
  readonly backendMs: number;
  /** Bytes of the bodies. */
  readonly requestBytes: number;
  readonly responseBytes: number;
  /** `null`: it was not traced. */
  readonly traceId: string | null;
  /**
   * The arguments as the client sent them, as JSON: hashed, and stored only if the server's options say so. For a body that was not
   * buffered, only their SHA-256 hash, base64url.
   */
  readonly arguments: Uint8Array | string | null;
}

/** Records calls after the response; never throws or delays a call. */
export interface CallAudit {
  record(call: CallRecord): void;
}

/** Records nothing. */
export const noAudit: CallAudit = Object.freeze({ record: () => {} });
