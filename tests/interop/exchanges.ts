/** A fetch that records a client's requests and responses. */

export interface Exchange {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** Empty when nothing was sent. */
  readonly body: string;
  readonly status: number;
  /** `WWW-Authenticate` of the response. */
  readonly challenge: string | null;
}

export interface Recorder {
  readonly fetch: (url: string | URL | Request, init?: RequestInit) => Promise<Response>;
  readonly exchanges: readonly Exchange[];
  /** The exchanges so far as `POST /token 200`, without those with the protected server; clears the record. */
  summary(): readonly string[];
}

export function createRecorder(): Recorder {
  let exchanges: Exchange[] = [];
  return {
    get exchanges() {
      return exchanges;
    },
    async fetch(url, init) {
      const request = new Request(url, init);
      const body = await request.clone().text();
      const response = await fetch(request);
      const { method, headers } = request;
      const challenge = response.headers.get('www-authenticate');
      exchanges.push({
        method,
        url: new URL(request.url),
        headers,
        body,
        status: response.status,
        challenge,
      });
      return response;
    },
    summary() {
      const lines = exchanges
        .filter(({ url, status }) => url.pathname !== '/mcp' || status >= 400)
        .map(({ method, url, status }) => `${method} ${url.pathname} ${status}`);
      exchanges = [];
      return lines;
    },
  };
}
