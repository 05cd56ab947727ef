/** The audit events of the gateway, and how the audit log of the authorization server stores them. */
import type { ComponentEvent, ComponentEvents } from '@portcullis/authorization-server';
import type { CallDecision, CallOutcome } from './call-record.ts';

/** A call through the gateway, or a request there that was refused. */
export type CallEvent = ComponentEvent & {
  readonly type: 'call.finished';
  /** The server's path. */
  readonly server: string;
  readonly method: string;
  readonly tool?: string;
  /** Prompt, or URI of a resource. */
  readonly target?: string;
  readonly decision: CallDecision;
  /** The path of the rule that refused it: `servers[0].tools["delete_*"].when`. */
  readonly rule?: string;
  readonly reason?: string;
  /** What a condition read, as JSON, without secrets. */
  readonly values?: string;
  /** IDs of the approvals that it has used. */
  readonly approvals?: readonly string[];
  /** Without a token: the site of the client, an IPv4 address or an IPv6 prefix. */
  readonly site?: string;
  readonly outcome: CallOutcome;
  /** HTTP status of the response. */
  readonly status?: number;
  /** Milliseconds; `backendDuration` of these were spent waiting for the backend. */
  readonly duration: number;
  readonly backendDuration: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
  /** SHA-256, base64url. */
  readonly argumentsHash?: string;
  /** Redacted JSON, if the server's options include it. */
  readonly arguments?: string;
};

/** A tool of a server is new or has changed, and is pending approval. */
export type ToolChangeEvent = ComponentEvent & {
  readonly type: 'tool.changed';
  readonly server: string;
  readonly tool: string;
  readonly change: 'new' | 'changed';
};

/** Audit events of the gateway: calls, changed tools, and decisions about them. */
export type GatewayAuditEvent =
  | CallEvent
  | ToolChangeEvent
  /** An operator approved or rejected a pending tool. */
  | (ComponentEvent & {
      readonly type: 'tool.approved' | 'tool.rejected';
      readonly server: string;
      readonly tool: string;
    });

/** Methods that call something. */
const CALLS: readonly string[] = ['tools/call', 'resources/read', 'prompts/get'];

/** For `recordOf` of the authorization server. Allowed requests around calls, such as listing tools, are routine. */
export const gatewayAuditEvents: Pick<ComponentEvents<GatewayAuditEvent>, 'isRoutine' | 'isBulk'> = {
  isRoutine: (event) =>
    event.type === 'call.finished' && event.decision === 'allowed' && !CALLS.includes(event.method),
  isBulk: ({ type }) => type === 'call.finished',
};
