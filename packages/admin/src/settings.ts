/** The setting `admin`, and the resources that it protects; loads nothing of the API itself. */
import type { ResourceDefinition } from '@portcullis/authorization-server';
import { lazy, list, type OutputOf, optional, text } from '@portcullis/authorization-server/options';
import * as z from 'zod';

/** Reads everything that is administered. */
export const ADMIN_READ = 'admin:read';
/** Changes it, too. */
export const ADMIN_WRITE = 'admin:write';

/** Everything of the API is below this path of the public URL. */
export const API_PATH = '/admin/api/v1';
/** The admin MCP server. */
export const MCP_PATH = '/admin/mcp';

const holdersSchema = lazy(() =>
  z.strictObject({
    groups: optional(list(text('a group')), 'groups whose users have the role'),
    clients: optional(
      list(text('a `client_id`')),
      'clients that have the role when they act for themselves (client credentials)',
    ),
  }),
);

/** The schema of the setting `admin`. */
export const adminSchema = lazy(() =>
  z.strictObject({
    operators: optional(
      holdersSchema(),
      'who else may see and change everything, besides accounts with the role `operator`',
    ),
    viewers: optional(
      holdersSchema(),
      'who else may see everything, besides accounts with the role `viewer`',
    ),
    secondFactor: z.boolean().default(true).describe('whether users need to have signed in with two factors'),
    approvals: z
      .boolean()
      .default(true)
      .describe('whether each change through the admin MCP server needs an approval, in the console'),
  }),
);

/** The setting `admin`, validated. */
export type AdminOptions = OutputOf<typeof adminSchema>;

const SCOPES = {
  [ADMIN_READ]: 'See the users, apps, connections, settings and events of this installation',
  [ADMIN_WRITE]: 'Change them: disable users and apps, end connections, decide approvals, rotate keys',
};

/** The protected resources of the admin API and its MCP server, for the authorization server. */
export function adminResourcesOf(issuer: string): readonly ResourceDefinition[] {
  const { origin } = new URL(issuer);
  const resources = { [API_PATH]: 'Admin API', [MCP_PATH]: 'Admin MCP server' };
  return Object.entries(resources).map(([path, name]) => ({
    resource: `${origin}${path}`,
    name,
    scopes: SCOPES,
    access: { [ADMIN_READ]: 'read', [ADMIN_WRITE]: 'administer' },
    defaultScopes: [ADMIN_READ],
    hierarchy: { [ADMIN_WRITE]: [ADMIN_READ] },
    revocationDelay: 0,
  }));
}
