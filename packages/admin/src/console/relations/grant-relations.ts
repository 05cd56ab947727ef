/** The relations of connections: what users allowed apps at servers. */
import type { ListedConnection } from '@portcullis/authorization-server';
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { Administration } from '../../operations/administration.ts';
import { links } from '../links.ts';
import { type permissionsOf, serverOf } from '../names.ts';
import { tag } from '../ui/parts.ts';
import type { Relation } from './relations.ts';

/** One for each server of a connection. @param names of apps, by identifier */
export function relationsOf(
  admin: Pick<Administration, 'servers'>,
  grants: readonly Pick<ListedConnection, 'account' | 'clientId' | 'resources'>[],
  names: ReadonlyMap<string, string>,
): readonly Relation[] {
  return grants.flatMap(({ account, clientId, resources }) =>
    resources.map((resource) => {
      const { name, path } = serverOf(admin, resource);
      return {
        user: { id: account.id, label: account.email, href: links.user(account.id) },
        app: { id: clientId, label: names.get(clientId) ?? clientId, href: links.app(clientId) },
        server: { id: resource, label: name, href: path === null ? null : links.server(path) },
      };
    }),
  );
}

/** Permissions that a row of a table has; the page of the connection has all. */
const MAX_TAGS = 8;

/** What a connection permits, in a row of a table. */
export function permissionTags(
  { scopes, resources }: Pick<ListedConnection, 'scopes' | 'resources'>,
  permission: ReturnType<typeof permissionsOf>,
): Markup {
  const count = scopes.length > MAX_TAGS + 1 ? MAX_TAGS : scopes.length;
  return html`<span class="tags">${scopes.slice(0, count).map((scope) => tag(permission(scope, resources)))}${count < scopes.length && tag(`${scopes.length - count} more`)}</span>`;
}
