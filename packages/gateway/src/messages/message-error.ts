/** The error for a message that is not accepted: an HTTP status with a JSON-RPC error. */
import { errorCodes } from '@portcullis/http';
import type { Explanation } from '@portcullis/policy';

/** Why a message is not accepted: by a rule or an approver, since its tool waits for review, or because it is none that can be accepted. */
export type RefusalDecision = 'denied' | 'approval_denied' | 'unapproved' | 'invalid';

interface MessageErrorOptions {
  readonly status?: number;
  readonly id?: string | null;
  readonly decision?: RefusalDecision;
  readonly isToolResult?: boolean;
  readonly because?: Explanation | null;
  readonly headers?: readonly string[];
}

/** An invalid message: the HTTP status and the JSON-RPC error that its sender receives. @see JSON-RPC 2.0 §5.1 */
export class MessageError extends Error {
  override readonly name = 'MessageError';
  /** HTTP. */
  readonly status: number;
  /** Of JSON-RPC, or of MCP. */
  readonly code: number;
  /** The JSON text of the request's id; `null` when it is unknown. */
  readonly id: string | null;
  /** What the audit log records. */
  readonly decision: RefusalDecision;
  /** Whether its sender receives it as a tool's result with `isError`, which a model can read, and not as a JSON-RPC error. */
  readonly isToolResult: boolean;
  /** The rule that decided, for the audit log. */
  readonly because: Explanation | null;
  /** Of the response, as a flat list. */
  readonly headers: readonly string[];

  constructor(
    code: keyof typeof errorCodes,
    message: string,
    {
      status = 400,
      id = null,
      decision = 'invalid',
      isToolResult = false,
      because = null,
      headers = [],
    }: MessageErrorOptions = {},
  ) {
    super(message);
    this.status = status;
    this.code = errorCodes[code];
    this.id = id;
    this.decision = decision;
    this.isToolResult = isToolResult;
    this.because = because;
    this.headers = headers;
  }
}
