/** An MCP server that lists GitHub repositories with a provider token of its user, never the client's token. */
import { type CallToolResult, createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import type { RunningApplication } from '@portcullis/cli';
import type { Principal } from '@portcullis/resource-server';
import { authInfoOf, principalOf } from '@portcullis/resource-server/mcp';
import type { UpstreamTokenSource } from '@portcullis/resource-server/upstream';

const { GITHUB_API = 'https://api.github.com' } = process.env;

/** Handles requests that a guard has authorized. */
export function serveRepositories(upstream: UpstreamTokenSource): RunningApplication {
  const handler = createMcpHandler(({ authInfo }) => {
    const server = new McpServer({ name: 'repositories', version: '1.0.0' });
    server.registerTool('list_repositories', { description: 'Lists your repositories at GitHub.' }, () =>
      list(upstream, principalOf(authInfo)),
    );
    return server;
  });
  return {
    handle: (request, principal) => handler.fetch(request, { authInfo: authInfoOf(principal) }),
    close: () => handler.close(),
  };
}

async function list(upstream: UpstreamTokenSource, principal: Principal): Promise<CallToolResult> {
  const { accessToken } = await upstream.tokenFor(principal, {
    identityProvider: 'github',
    scopes: ['repo'],
  });
  const response = await fetch(`${GITHUB_API}/user/repos`, {
    headers: { authorization: `Bearer ${accessToken}`, 'user-agent': 'repositories' },
  });
  // The user may have just revoked the token at GitHub.
  if (response.status === 401) upstream.forget(principal);
  if (!response.ok) throw new Error(`GitHub answered ${response.status}.`);
  const repositories = (await response.json()) as { readonly full_name: string }[];
  return { content: repositories.map(({ full_name: text }) => ({ type: 'text', text })) };
}
