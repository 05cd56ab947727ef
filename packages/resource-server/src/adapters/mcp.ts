/** The guard in front of the official MCP server packages: their `authInfo`, made from a principal. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Guard } from '../guard.ts';
import { resourceMetadataUrl } from '../metadata/metadata-handler.ts';
import { isPrincipal, type Principal } from '../principal.ts';
import { protect } from './fetch.ts';
import { protectNode } from './node.ts';

/** What both packages call `AuthInfo`. */
export interface AuthInfo {
  token: string;
  clientId: string;
  scopes: string[];
  expiresAt: number;
  resource: URL;
  resourceMetadataUrl: string;
  extra: Record<string, unknown> & { principal: Principal };
}

/** Stands where the packages keep the token: a tool that passed it on upstream would pass on nothing. */
const WITHHELD_TOKEN = 'withheld-by-the-guard';

/** What a server package is told of a principal. */
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
 * The principal behind an `authInfo`, within a tool.
 * @throws TypeError when it is not from a guard.
 */
export function principalOf(
  authInfo: { readonly extra?: Record<string, unknown> | undefined } | undefined,
): Principal {
  const principal = authInfo?.extra?.['principal'];
  if (isPrincipal(principal)) return principal;
  throw new TypeError('This authInfo is not from a guard: make it with authInfoOf.');
}

/** A handler of `@modelcontextprotocol/server` 2.x, such as `createMcpHandler` makes. */
interface McpHandler {
  fetch(request: Request, options: { authInfo: AuthInfo }): Promise<Response>;
}

/** Puts a guard in front of a handler of `@modelcontextprotocol/server` 2.x. */
export function protectMcp(guard: Guard, handler: McpHandler): (request: Request) => Promise<Response> {
  return protect(guard, (request, principal) => handler.fetch(request, { authInfo: authInfoOf(principal) }));
}

/** A request as the transports of `@modelcontextprotocol/sdk` 1.x take it. */
export type AuthenticatedRequest = IncomingMessage & { auth: AuthInfo };

/** Puts a guard in front of a handler that passes its request to a transport of `@modelcontextprotocol/sdk` 1.x. */
export function protectMcpNode(
  guard: Guard,
  handler: (request: AuthenticatedRequest, response: ServerResponse) => void | Promise<void>,
): (request: IncomingMessage, response: ServerResponse) => void {
  return protectNode(guard, (request, response, principal) =>
    handler(Object.assign(request, { auth: authInfoOf(principal) }), response),
  );
}
