/** A request of a receiver that is refused. */
export class StreamError extends Error {
  override readonly name = 'StreamError';
  readonly status: 400 | 403 | 404 | 405 | 409 | 413 | 415 | 429;

  readonly headers: Readonly<Record<string, string>>;

  /** @param message one sentence for the developer of the receiver */
  constructor(status: StreamError['status'], message: string, headers: StreamError['headers'] = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}
