/** The error of a request: an HTTP status with a JSON-RPC error. */
import { errorCodes } from '@portcullis/http';

/** An error that ends a request. The response reveals nothing else. */
export class GatewayError extends Error {
  override readonly name: string = 'GatewayError';
  readonly status: number;
  /** JSON-RPC error code. */
  readonly code: number;
  readonly headers: readonly string[];
  /** The member `data` of the error. */
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    status: number,
    code: keyof typeof errorCodes | number,
    message: string,
    more: {
      readonly headers?: readonly string[];
      readonly details?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, 'cause' in more ? { cause: more.cause } : undefined);
    this.status = status;
    this.code = typeof code === 'number' ? code : errorCodes[code];
    this.headers = more.headers ?? [];
    this.details = more.details;
  }
}
