/** The error for a message that is not accepted: an HTTP status with a JSON-RPC error. */
import type { errorCodes } from '@portcullis/http';
import type { Explanation } from '@portcullis/policy';
import { GatewayError } from './gateway-error.ts';
import type { ScannedMessage } from './scanned-message.ts';

/** Why a message is not accepted: by a rule or an approver, since its tool waits for review, or because it is none that can be accepted. */
export type RefusalDecision = 'denied' | 'approval_denied' | 'unapproved' | 'invalid';

interface MessageErrorOptions {
  readonly status?: number;
  readonly id?: string | null;
  readonly decision?: RefusalDecision;
  readonly result?: ReturnType<typeof failedCall> | null;
  readonly because?: Explanation | null;
  readonly headers?: readonly string[];
}

/** An invalid message: the HTTP status and the JSON-RPC error that its sender receives. @see JSON-RPC 2.0 §5.1 */
export class MessageError extends GatewayError {
  override readonly name = 'MessageError';
  /** The JSON text of the request's id; `null` when it is unknown. */
  readonly id: string | null;
  /** What the audit log records. */
  readonly decision: RefusalDecision;
  /** The rule that decided, for the audit log. */
  readonly because: Explanation | null;

  constructor(
    code: keyof typeof errorCodes,
    message: string,
    {
      status = 400,
      id = null,
      decision = 'invalid',
      result = null,
      because = null,
      headers = [],
    }: MessageErrorOptions = {},
  ) {
    super(status, code, message, { headers, result });
    this.id = id;
    this.decision = decision;
    this.because = because;
  }
}

/** A tool's result with `isError`, which a model can read. */
export function failedCall(call: ScannedMessage | null, text: string) {
  return {
    // Revisions without sessions demand it. @see MCP 2026-07-28, multi round-trip requests
    ...(call !== null && call.protocolVersion !== null && { resultType: 'complete' }),
    content: [{ type: 'text', text }],
    isError: true,
  };
}
