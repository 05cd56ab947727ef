/** The request type that handlers read: a lighter object than the standard `Request`, with its path and query. */

/** An HTTP request; every standard `Request` conforms. */
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

/** Connection properties of a request, set by the handler's host. */
export interface ConnectionInfo {
  /**
   * The client's IP address, also behind trusted proxies: for rate limits and the audit log, never for decisions about identity.
   * IPv4-mapped IPv6 addresses are converted to IPv4.
   */
  readonly address?: string;
  /**
   * `tls`: encrypted up to here or to a trusted proxy; `loopback`: cleartext within this computer; `cleartext`: any other.
   */
  readonly security?: 'tls' | 'loopback' | 'cleartext';
}

/** The last URL parsed: every layer of the server reads the path of the same request. */
let last = { url: '', path: '' };

/** Returns what `new URL(request.url).pathname` would: request URLs are absolute and normalized. */
export function pathOf({ url }: Pick<HttpRequest, 'url'>): string {
  if (url !== last.url) last = { url, path: readPath(url) };
  return last.path;
}

function readPath(url: string): string {
  const begin = url.indexOf('/', url.indexOf('://') + 3);
  const end = url.slice(begin).search(/[?#]/);
  return end === -1 ? url.slice(begin) : url.slice(begin, begin + end);
}

/** Returns the query as sent, without the question mark; empty if there is none. */
export function queryOf({ url }: Pick<HttpRequest, 'url'>): string {
  const [beforeFragment = ''] = url.split('#', 1);
  const begin = beforeFragment.indexOf('?');
  return begin === -1 ? '' : beforeFragment.slice(begin + 1);
}
