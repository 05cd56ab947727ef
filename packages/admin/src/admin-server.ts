/** Serves the admin API and the admin MCP server behind a guard of their own, and the console to browsers. */
import type { CallApprovals } from '@portcullis/authorization-server';
import type { ComponentPages } from '@portcullis/authorization-server/pages';
import { respondJson, toResponse } from '@portcullis/http';
import type { Guard, Principal, ResourceOptions } from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/fetch';
import { endpoints } from './api/endpoints/index.ts';
import { createOpenApi } from './api/openapi.ts';
import { createApi } from './api/router.ts';
import { createAuthorizeCaller } from './authorize.ts';
import { createConsole } from './console/console.ts';
import { CONSOLE_PATH } from './console/links.ts';
import { createAdminMcp } from './mcp/mcp-server.ts';
import { type AdminSources, createAdministration } from './operations/administration.ts';
import { isBelow } from './routes.ts';
import { type AdminOptions, API_PATH, adminResourcesOf, MCP_PATH } from './settings.ts';

/** What is composed of the setting `admin`. */
export interface AdminServerOptions {
  readonly settings: AdminOptions;
  readonly sources: AdminSources;
  /** For changes through the MCP server. */
  readonly approvals: CallApprovals;
  /** Sessions and look of the pages, for the console. */
  readonly pages: ComponentPages;
  /** Of this program. */
  readonly version: string;
  /** A guard for the admin resources that verifies tokens as the others do. */
  readonly createGuard: (resources: readonly ResourceOptions[]) => Guard;
}

/** The admin API and the console, to be mounted at the root of its origin. */
export interface AdminServer {
  /** Whether a path is served here. */
  belongs(path: string): boolean;
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

const METADATA = '/.well-known/oauth-protected-resource';

/** Creates the admin API of an installation. */
export function createAdminServer(options: AdminServerOptions): AdminServer {
  const { settings, sources, version, createGuard } = options;
  const { issuer } = sources;
  const admin = createAdministration(sources);
  const authorize = createAuthorizeCaller(sources, admin.findRole, settings);
  const handleApi = createApi(admin, endpoints);
  const showConsole = createConsole(admin, options.pages, settings.secondFactor);
  const document = createOpenApi(endpoints, issuer, version);
  const mcp = createAdminMcp({ admin, version, approvals: settings.approvals ? options.approvals : null });
  const guard = createGuard(guardResourcesOf(issuer, mcp.scopesFor));
  const guarded = protect(guard, async (request: Request, principal: Principal) => {
    const caller = await authorize(principal);
    const { pathname } = new URL(request.url);
    return isBelow(pathname, MCP_PATH)
      ? mcp.fetch(request, caller)
      : handleApi({ request, path: pathname.slice(API_PATH.length), ...caller });
  });
  const stopCounting = admin.statistics.start();
  const guardedPaths = [API_PATH, MCP_PATH].flatMap((path) => [path, `${METADATA}${path}`]);
  const isGuarded = (path: string) => guardedPaths.some((one) => isBelow(path, one));
  return {
    belongs: (path) => isGuarded(path) || isBelow(path, CONSOLE_PATH),
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (!isGuarded(pathname)) return showConsole(request);
      const isDocument = pathname === `${API_PATH}/openapi.json` && request.method === 'GET';
      return isDocument ? toResponse(respondJson(document, { maxAge: 300 })) : guarded(request);
    },
    close: async () => void (await Promise.all([mcp.close(), stopCounting()])),
  };
}

/** @param scopesFor of the MCP server; the API checks the scope of each endpoint itself */
function guardResourcesOf(
  issuer: string,
  scopesFor: NonNullable<ResourceOptions['scopesFor']>,
): readonly ResourceOptions[] {
  return adminResourcesOf(issuer).map(({ resource, name, defaultScopes = [], hierarchy = {} }) => ({
    ...{ resource, name, defaultScopes, hierarchy },
    ...(resource.endsWith(MCP_PATH) && { scopesFor }),
  }));
}
