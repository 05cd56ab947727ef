/** An address of every page and form of the console, and what its form sends. */
import { FILES, type Furniture } from './furnished.ts';

/** A page or form at an address, as an operator uses it. */
interface Sample {
  readonly path: string;
  readonly fields: Readonly<Record<string, string>>;
}

const query = (values: Readonly<Record<string, string>>) => `?${new URLSearchParams(values)}`;

/** By the path of the route. @param backend origin of an MCP server and of an identity provider */
export function samplesFor(furniture: Furniture, backend: string): Readonly<Record<string, Sample>> {
  const { userId, clientId, grantId, approvalId, toolHash, tokenId, streamId } = furniture;
  const user = (name: string, fields: Sample['fields'] = {}) => ({
    path: `/admin/users/${userId}${name}`,
    fields,
  });
  const app = (name: string) => ({ path: `/admin/app${name}${query({ id: clientId })}`, fields: {} });
  const tool = (name: string) => ({
    path: `/admin/server/review${name}${query({ path: FILES, tool: furniture.tool, hash: toolHash })}`,
    fields: {},
  });
  const plain = (path: string, fields: Sample['fields'] = {}) => ({ path, fields });
  return {
    '/admin': plain('/admin'),
    '/admin/find': plain('/admin/find?q=grace'),
    '/admin/activity': plain('/admin/activity?type=admin.changed'),
    '/admin/activity/events/{eventId}': plain(`/admin/activity/events/${furniture.eventId}`),
    '/admin/activity/sequence': plain(`/admin/activity/sequence${query({ grant: grantId })}`),
    '/admin/users': plain('/admin/users?q=grace'),
    '/admin/users/invite': plain('/admin/users/invite', {
      email: `new-${userId}@example.com`,
      role: 'viewer',
    }),
    '/admin/users/{userId}': user(''),
    '/admin/users/{userId}/disable': user('/disable', { reason: 'left' }),
    '/admin/users/{userId}/enable': user('/enable'),
    '/admin/users/{userId}/end': user('/end'),
    '/admin/users/{userId}/remove': user('/remove', { confirm: furniture.email }),
    '/admin/users/{userId}/reset': user('/reset'),
    '/admin/users/{userId}/factors': user('/factors'),
    '/admin/users/{userId}/role': user('/role', { role: 'viewer' }),
    '/admin/users/{userId}/groups': user('/groups', { groups: 'editors\nleads' }),
    '/admin/groups': plain('/admin/groups'),
    '/admin/access': plain(`/admin/access${query({ user: userId })}`),
    '/admin/apps': plain('/admin/apps?show=registered'),
    '/admin/apps/add': plain('/admin/apps/add', {
      ...{ name: 'Robot', redirects: 'https://robot.example/callback', method: 'client_secret_basic' },
    }),
    '/admin/app': app(''),
    '/admin/app/verify': app('/verify'),
    '/admin/app/unverify': app('/unverify'),
    '/admin/app/disable': app('/disable'),
    '/admin/app/enable': app('/enable'),
    '/admin/app/remove': app('/remove'),
    '/admin/app/rotate-secret': app('/rotate-secret'),
    '/admin/connections/{grantId}': plain(`/admin/connections/${grantId}`),
    '/admin/connections/{grantId}/end': plain(`/admin/connections/${grantId}/end`),
    '/admin/servers': plain('/admin/servers'),
    '/admin/server': plain(`/admin/server${query({ path: FILES })}`),
    '/admin/server/review': tool(''),
    '/admin/server/review/approve': tool('/approve'),
    '/admin/server/review/reject': tool('/reject'),
    '/admin/approvals': plain('/admin/approvals'),
    '/admin/approvals/{approvalId}': plain(`/admin/approvals/${approvalId}`),
    '/admin/approvals/{approvalId}/allow': plain(`/admin/approvals/${approvalId}/allow`),
    '/admin/approvals/{approvalId}/deny': plain(`/admin/approvals/${approvalId}/deny`, { reason: 'no' }),
    '/admin/policy': plain(
      `/admin/policy${query({ server: FILES, tool: 'read_page', user: userId, ask: 'explain' })}`,
    ),
    '/admin/settings': plain('/admin/settings'),
    '/admin/settings/providers/{providerId}': plain('/admin/settings/providers/company'),
    '/admin/settings/rotate-key': plain('/admin/settings/rotate-key', { replacement: 'at-once' }),
    '/admin/settings/create-token': plain('/admin/settings/create-token', { note: 'CI', days: '7' }),
    '/admin/settings/tokens/{tokenId}/revoke': plain(`/admin/settings/tokens/${tokenId}/revoke`),
    '/admin/settings/streams/{streamId}/remove': plain(`/admin/settings/streams/${streamId}/remove`),
    '/admin/settings/create-scim-token': plain('/admin/settings/create-scim-token', {
      ...{ provider: 'company', note: 'Company', days: '180' },
    }),
    '/admin/settings/scim-tokens/{tokenId}/revoke': plain(
      `/admin/settings/scim-tokens/${furniture.scimTokenId}/revoke`,
    ),
    '/admin/setup': plain('/admin/setup', {
      url: `${backend}/mcp`,
      name: 'New',
      path: '/new',
      groups: 'editors',
    }),
    '/admin/setup/provider': plain('/admin/setup/provider', {
      ...{ issuer: `${backend}/idp`, name: 'Company', id: 'company', clientId: 'portcullis' },
    }),
  };
}

/** Pages of lists and of the installation itself, which name no single thing. */
export const WITHOUT_ID: readonly string[] = [
  '/admin',
  '/admin/find',
  '/admin/activity',
  '/admin/users',
  '/admin/users/invite',
  '/admin/groups',
  '/admin/apps',
  '/admin/apps/add',
  '/admin/servers',
  '/admin/approvals',
  '/admin/policy',
  '/admin/settings',
  '/admin/settings/rotate-key',
  '/admin/settings/create-token',
  '/admin/settings/create-scim-token',
  '/admin/setup',
  '/admin/setup/provider',
];

/** Routes that respond with something else than a page: `activity.test.ts` has them. */
export const NO_PAGES: readonly string[] = ['/admin/activity/stream', '/admin/activity/sequence.svg'];
