/** Well-known MCP hosts and exactly their redirect URIs: private-use ones are allowed by default. */
import type { RedirectPolicy } from '@portcullis/protocol';

/** An MCP host, as its dynamic registration or metadata document names it. */
export interface KnownHost {
  readonly name: string;
  /** A pattern matches a whole URI that contains an identifier. */
  readonly redirectUris: readonly (string | RegExp)[];
  /** Where the URIs are documented or implemented. */
  readonly source: string;
}

/** `https` and loopback URIs are allowed for every client; they are listed to distinguish the hosts from those that need a scheme. */
export const knownHosts: readonly KnownHost[] = [
  {
    name: 'Cursor',
    redirectUris: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ],
    source: 'https://cursor.com/docs/mcp',
  },
  {
    name: 'Visual Studio Code',
    redirectUris: ['https://vscode.dev/redirect', 'http://127.0.0.1/', 'http://127.0.0.1:33418/'],
    source: 'https://github.com/microsoft/vscode/blob/main/src/vs/base/common/oauth.ts',
  },
  {
    name: 'Visual Studio Code Insiders',
    redirectUris: ['https://insiders.vscode.dev/redirect', 'http://127.0.0.1/', 'http://127.0.0.1:33418/'],
    source: 'https://github.com/microsoft/vscode/blob/main/src/vs/base/common/oauth.ts',
  },
  {
    name: 'Claude',
    redirectUris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
    source:
      'https://docs.zuora.com/zuora-ai/zuora-mcp-server/zuora-mcp-server/configure-zuora-remote-mcp-server/redirect-uris-by-mcp-client',
  },
  {
    name: 'Claude Code',
    redirectUris: ['http://localhost/callback'],
    source: 'https://github.com/anthropics/claude-code/issues/66511',
  },
  {
    name: 'ChatGPT',
    redirectUris: [
      'https://chatgpt.com/connector_platform_oauth_redirect',
      /^https:\/\/chatgpt\.com\/connector\/oauth\/[\w-]+$/,
    ],
    source: 'https://github.com/makeplane/plane-mcp-server/pull/165',
  },
  {
    name: 'Windsurf',
    redirectUris: ['http://localhost/callback'],
    source: 'https://docs.windsurf.com/windsurf/cascade/mcp',
  },
  {
    name: 'Zed',
    redirectUris: ['http://127.0.0.1/callback'],
    source: 'https://github.com/zed-industries/zed/blob/main/crates/context_server/src/oauth.rs',
  },
  {
    name: 'Gemini CLI',
    redirectUris: ['http://localhost:7777/oauth/callback'],
    source: 'https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/mcp/oauth-provider.ts',
  },
  {
    name: 'opencode',
    redirectUris: ['http://127.0.0.1:19876/mcp/oauth/callback'],
    source: 'https://github.com/sst/opencode/blob/dev/packages/opencode/src/mcp/oauth-provider.ts',
  },
  {
    name: 'Warp',
    redirectUris: ['warp://mcp/oauth2callback'],
    source: 'https://github.com/warpdotdev/warp/blob/master/specs/APP-4099/TECH.md',
  },
  {
    // An extension of editors that share their scheme; the identifier is a hash of the server.
    name: 'Cline',
    redirectUris: [
      /^(?:vscode|vscode-insiders|cursor|windsurf):\/\/saoudrizwan\.claude-dev\/mcp-auth\/callback\/[0-9a-f]{16,64}$/,
    ],
    source: 'https://github.com/cline/cline/blob/main/src/services/mcp/McpOAuthManager.ts',
  },
  {
    // The package is the extension, or the MCP server as its user named it.
    name: 'Raycast',
    redirectUris: [
      /^raycast:\/\/oauth\?package_name=[\w%().+-]+$/,
      /^com\.raycast:\/oauth\?package_name=[\w%().+-]+$/,
    ],
    source: 'https://developers.raycast.com/api-reference/oauth',
  },
];

const privateUseUris = knownHosts
  .flatMap(({ redirectUris }) => redirectUris)
  .filter((uri) => !/^\^?https?:/.test(typeof uri === 'string' ? uri : uri.source));

/**
 * The policy for redirect URIs: https and loopback, the private-use URIs of well-known hosts, and the schemes that the operator
 * allows.
 * @param schemes `false`: no private-use scheme at all, not even of well-known hosts
 * @see RFC 8252 §7.1
 */
export function createRedirectPolicy(schemes: readonly string[] | false, issuer: string): RedirectPolicy {
  const ownOrigin = URL.parse(issuer)?.origin;
  return {
    ...(schemes === false ? { privateUseSchemes: [] } : { privateUseSchemes: schemes, privateUseUris }),
    ...(ownOrigin !== undefined && { ownOrigin }),
  };
}
