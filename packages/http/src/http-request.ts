/** The request type that handlers read: the part of the standard `Request` that they need, in a lighter object. */

/** An HTTP request; every standard `Request` is one. */
export interface HttpRequest {
  readonly method: string;
  /** An absolute URL in normalized form. */
  readonly url: string;
  /** Headers by case-insensitive name. Repeated headers are joined by commas, cookies by semicolons. */
  readonly headers: Pick<Headers, 'get' | 'has'>;
  /** The body as a stream of chunks; `null` if there is none. It can be read once, this way or as a whole. */
  readonly body: AsyncIterable<Uint8Array> | null;
  /**
   * Reads the whole body as UTF-8 without a byte order mark.
   * @throws Error if the connection closes before its end
   */
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
