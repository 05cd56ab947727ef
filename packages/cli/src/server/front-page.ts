/** What stands at `/`, and where nothing stands: tells a person who typed the address what this is, in HTML to browsers and as text to the rest. */
import type { AuthorizationServer } from '@portcullis/authorization-server';
import { type HttpRequest, type HttpResponse, respond, withHeaders } from '@portcullis/http';
import type { ConnectionInfo } from '@portcullis/http/node';
import { respondNotFound } from './path-handler.ts';
import type { ProtectedServer } from './protected-servers.ts';

/** Content is negotiated, so that `curl` shows something to read too. @see RFC 9110 §12.5.1 */
export async function respondFrontPage(
  asked: HttpRequest,
  connection: ConnectionInfo,
  server: AuthorizationServer,
  servers: readonly ProtectedServer[],
): Promise<HttpResponse> {
  if (!wantsPage(asked)) return respondText(servers);
  return withHeaders(await server.frontPage(asked, connection), { vary: 'Accept' });
}

/** What stands where nothing does: a page for browsers, JSON for the rest. @see RFC 9110 §12.5.1 */
export async function respondMissing(
  asked: HttpRequest,
  connection: ConnectionInfo,
  server: AuthorizationServer,
): Promise<HttpResponse> {
  const isRead = asked.method === 'GET' || asked.method === 'HEAD';
  const answer = isRead && wantsPage(asked) ? await server.missingPage(asked, connection) : respondNotFound();
  return withHeaders(answer, { vary: 'Accept' });
}

/** Whether a browser asks, for somebody to read. */
function wantsPage(asked: HttpRequest): boolean {
  return /\btext\/html\b/i.test(asked.headers.get('accept') ?? '');
}

/** Plain, so that nothing in it needs escaping. */
function respondText(servers: readonly ProtectedServer[]): HttpResponse {
  const list = servers.map(({ name, url }) => `  ${name}\n  ${url}\n`).join('\n');
  const text = `Portcullis guards ${servers.length === 1 ? 'this MCP server' : 'these MCP servers'}. Give the address to an MCP client:

${list}
The client opens a browser page here, where you sign in and decide what it may do.
Which apps have access to your account, and how to remove it: /connections
`;
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'public, max-age=300',
    vary: 'Accept',
  };
  return respond(200, headers, text);
}
