/** What stands at `/`: tells a person who typed the address what this is, in HTML to browsers and as text to the rest. */
import type { AuthorizationServer } from '@portcullis/authorization-server';
import { type Answer, type Asked, respond, withHeaders } from '@portcullis/http';
import type { Peer } from '@portcullis/http/node';
import type { ProtectedServer } from './protected-servers.ts';

/** Content is negotiated, so that `curl` shows something to read too. @see RFC 9110 §12.5.1 */
export async function respondFrontPage(
  asked: Asked,
  peer: Peer,
  server: AuthorizationServer,
  servers: readonly ProtectedServer[],
): Promise<Answer> {
  if (!/\btext\/html\b/i.test(asked.headers.get('accept') ?? '')) return respondText(servers);
  return withHeaders(await server.frontPage(asked, peer), { vary: 'Accept' });
}

/** Plain, so that nothing in it needs escaping. */
function respondText(servers: readonly ProtectedServer[]): Answer {
  const list = servers.map(({ name, url }) => `  ${name}\n  ${url}\n`).join('\n');
  const text = `Portcullis guards ${servers.length === 1 ? 'this MCP server' : 'these MCP servers'}. Give the address to an MCP client:

${list}
The client opens a browser page here, where you sign in and decide what it may do.
What has access to your account, and how to end it: /connections
`;
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'public, max-age=300',
    vary: 'Accept',
  };
  return respond(200, headers, text);
}
