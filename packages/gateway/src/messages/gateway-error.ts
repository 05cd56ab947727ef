/** The error of a request: an HTTP status with a JSON-RPC error. */
import { errorCodes } from '@portcullis/http';

/** An error that ends a request. The response reveals nothing else. */
export class GatewayError extends Error {
  override readonly name: string = 'GatewayError';
  readonly status: number;
  /** Of JSON-RPC, or of MCP. */
  readonly code: number;
  /** Of the response, as a flat list. */
  readonly headers: readonly string[];
  /** The member `data` of the error. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** What its sender receives in place of a JSON-RPC error. */
  readonly result: Readonly<Record<string, unknown>> | null;

  constructor(
    status: number,
    code: keyof typeof errorCodes,
    message: string,
    more: {
      readonly headers?: readonly string[];
      readonly details?: Readonly<Record<string, unknown>>;
      readonly result?: Readonly<Record<string, unknown>> | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, 'cause' in more ? { cause: more.cause } : undefined);
    this.status = status;
    this.code = errorCodes[code];
    this.headers = more.headers ?? [];
    this.details = more.details;
    this.result = more.result ?? null;
  }
}

/** The same for an unknown session and for one of another user. */
export function sessionNotFound(): GatewayError {
  return new GatewayError(404, 'sessionNotFound', 'Session not found: start a new one with initialize.');
}

export function invalidRequest(
  status: number,
  message: string,
  headers: readonly string[] = [],
): GatewayError {
  return new GatewayError(status, 'invalidRequest', message, { headers });
}
