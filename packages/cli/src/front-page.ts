/** What stands at `/`: tells a person who typed the address what this is. */

/** Plain text, so that nothing in it needs escaping. */
export function respondFrontPage(name: string, resource: string): Response {
  const text = `${name}

This is an MCP server, protected by Portcullis. Give its address to an MCP client:

  ${resource}

The client opens a browser page here, where you sign in and decide what it may do.
`;
  return new Response(text, {
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=300',
    },
  });
}
