/** What a room reads of a request: less than the web's `Request`, so that any of those is one, and a lighter thing as well. */

/** A request. */
export interface HttpRequest {
  readonly method: string;
  /** Absolute, and written in the one way that URLs are. */
  readonly url: string;
  /** Fields by name, in any case of letters. Those that were sent repeatedly are one, joined by commas; cookies by semicolons. */
  readonly headers: Pick<Headers, 'get' | 'has'>;
  /** The body in pieces, for whoever counts them; `null` when there is none. It is read once, in this way or as a whole. */
  readonly body: AsyncIterable<Uint8Array> | null;
  /** The whole body, decoded as UTF-8 without a byte order mark. Rejects when the sender went before its end. */
  text(): Promise<string>;
}
