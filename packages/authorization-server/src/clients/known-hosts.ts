/** The policy for redirect URIs, with the private-use ones of well-known MCP hosts: exactly these are allowed by default. */
import type { RedirectPolicy } from '@portcullis/protocol';

/** A pattern matches a whole URI that contains an identifier. `https` and loopback URIs are allowed for every client. */
const privateUseUris: readonly (string | RegExp)[] = [
  // Cursor. @see https://cursor.com/docs/mcp
  'cursor://anysphere.cursor-mcp/oauth/callback',
  // Warp. @see https://github.com/warpdotdev/warp/blob/master/specs/APP-4099/TECH.md
  'warp://mcp/oauth2callback',
  // Cline, an extension of editors that share their scheme; the identifier is a hash of the server.
  // @see https://github.com/cline/cline/blob/main/src/services/mcp/McpOAuthManager.ts
  /^(?:vscode|vscode-insiders|cursor|windsurf):\/\/saoudrizwan\.claude-dev\/mcp-auth\/callback\/[0-9a-f]{16,64}$/,
  // Raycast. The package is the extension, or the MCP server as its user named it.
  // @see https://developers.raycast.com/api-reference/oauth
  /^raycast:\/\/oauth\?package_name=[\w%().+-]+$/,
  /^com\.raycast:\/oauth\?package_name=[\w%().+-]+$/,
];

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
