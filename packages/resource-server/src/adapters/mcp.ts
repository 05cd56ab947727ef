/** The guard for the official MCP server packages: converts a principal to their `authInfo`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Guard } from '../guard.ts';
import { resourceMetadataUrl } from '../metadata/metadata-handler.ts';
import { isPrincipal, type Principal } from '../principal.ts';
import { protect } from './fetch.ts';
import { protectNode } from './node.ts';

/** The type that both packages call `AuthInfo`. */
export interface AuthInfo {
  token: string;
  clientId: string;
  scopes: string[];
  expiresAt: number;
  resource: URL;
  resourceMetadataUrl: string;
  extra: Record<string, unknown> & { principal: Principal };
}

/** Takes the place of the token, so that a tool cannot forward it upstream (token passthrough). */
const WITHHELD_TOKEN = 'withheld-by-the-guard';

/** Converts a principal to the `authInfo` of a server package. */
export function authInfoOf(principal: Principal): AuthInfo {
  const { clientId, scopes, expiresAt, resource } = principal;
  return {
    token: WITHHELD_TOKEN,
    clientId,
    scopes: [...scopes],
    expiresAt,
    resource: new URL(resource),
    resourceMetadataUrl: resourceMetadataUrl(resource),
    extra: { principal },
  };
}

/**
 * Returns the principal of an `authInfo`, within a tool.
 * @throws TypeError if it was not created by a guard
 */
export function principalOf(
  authInfo: { readonly extra?: Record<string, unknown> | undefined } | undefined,
): Principal {
  const principal = authInfo?.extra?.['principal'];
  if (isPrincipal(principal)) return principal;
  throw new TypeError('This authInfo was not created by a guard: create it with authInfoOf.');
}

/** A handler of `@modelcontextprotocol/server` 2.x, such as `createMcpHandler` returns. */
interface McpHandler {
  fetch(request: Request, options: { authInfo: AuthInfo }): Promise<Response>;
}

/** Protects a handler of `@modelcontextprotocol/server` 2.x. */
export function protectMcp(guard: Guard, handler: McpHandler): (request: Request) => Promise<Response> {
  return protect(guard, (request, principal) => handler.fetch(request, { authInfo: authInfoOf(principal) }));
}

/** A request as transports of `@modelcontextprotocol/sdk` 1.x expect it. */
type AuthenticatedRequest = IncomingMessage & { auth: AuthInfo };

/** Protects a handler that passes its request to a transport of `@modelcontextprotocol/sdk` 1.x. */
export function protectMcpNode(
  guard: Guard,
  handler: (request: AuthenticatedRequest, response: ServerResponse) => void | Promise<void>,
): (request: IncomingMessage, response: ServerResponse) => void {
  return protectNode(guard, (request, response, principal) =>
    handler(Object.assign(request, { auth: authInfoOf(principal) }), response),
  );
}
