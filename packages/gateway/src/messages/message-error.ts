/** The error for a message that is not accepted: an HTTP status with a JSON-RPC error. */

export class MessageError extends Error {
  override readonly name = 'MessageError';
  /** HTTP. */
  readonly status: number;
  /** Of JSON-RPC, or of MCP. */
  readonly code: number;
  /** The JSON text of the request's id; `null` when it is unknown. */
  readonly id: string | null;

  constructor(
    code: number,
    message: string,
    { status = 400, id = null }: { readonly status?: number; readonly id?: string | null } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.id = id;
  }
}
