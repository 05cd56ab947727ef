/** The relations of connections: what users allowed apps at servers. */
import type { ListedConnection } from '@portcullis/authorization-server';
import type { Administration } from '../../operations/administration.ts';
import { links } from '../links.ts';
import { serverOf } from '../names.ts';
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
