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

/** What the host of a handler knows about the connection of a request. */
export interface ConnectionInfo {
  /**
   * The client's IP address, also behind trusted proxies: for rate limits and the audit log, never for decisions about identity.
   * An IPv4 address is written as one even when it came over an IPv6 socket.
   */
  readonly address?: string;
  /**
   * `tls`: encrypted up to here or to a trusted proxy; `loopback`: cleartext that never leaves this computer; `cleartext`: any other.
   */
  readonly security?: 'tls' | 'loopback' | 'cleartext';
}
