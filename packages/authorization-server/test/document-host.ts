/** A host of client documents for tests: it serves what a test sets, and records requests. */
import type { OutboundFetch } from '@portcullis/http/outbound';

/** What a URL serves: JSON, or a whole response made from the request. */
type Page = object | ((request: Request) => Response | Promise<Response>);

export interface DocumentHost {
  readonly pages: Map<string, Page>;
  /** The requested URLs, in order. */
  readonly asked: string[];
  readonly fetch: OutboundFetch;
}

export function createDocumentHost(pages: Readonly<Record<string, Page>> = {}): DocumentHost {
  const host: DocumentHost = {
    pages: new Map(Object.entries(pages)),
    asked: [],
    async fetch(input, init) {
      const request = new Request(input, init);
      host.asked.push(request.url);
      const page = host.pages.get(request.url);
      if (page === undefined) return new Response('not here', { status: 404 });
      return typeof page === 'function' ? page(request) : respond(page);
    },
  };
  return host;
}

/** A valid document, revalidated each time unless the headers allow caching. */
export function respond(document: unknown, headers: Record<string, string> = {}, status = 200): Response {
  const all = { 'content-type': 'application/json', ...headers };
  return new Response(JSON.stringify(document), { status, headers: all });
}

export const APP = 'https://app.example/client.json';

/** A document that describes a public client. */
export function documentOf(url: string = APP, changes: object = {}): Record<string, unknown> {
  return {
    client_id: url,
    client_name: 'Sketchbook',
    redirect_uris: ['https://app.example/callback', 'http://127.0.0.1/callback', 'http://localhost/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    ...changes,
  };
}
