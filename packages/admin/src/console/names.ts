/** Names of clients and servers, as pages show them in place of identifiers. */
import { resourcesOf } from '@portcullis/gateway/options';
import type { Administration } from '../operations/administration.ts';
import { type DescribedClient, describeClient } from '../operations/clients.ts';
import { OperationError } from '../operations/errors.ts';

/** What an app is called: as it calls itself, or its identifier. */
export function appName({ id, metadata }: Pick<DescribedClient, 'id' | 'metadata'>): string {
  const { client_name: name } = metadata;
  return typeof name === 'string' && name.trim() !== '' ? name : id;
}

/** The name of a client; one that is gone has its identifier. */
export async function findAppName(admin: Administration, id: string): Promise<string> {
  try {
    return appName(await describeClient(admin, id));
  } catch (error) {
    if (error instanceof OperationError) return id;
    throw error;
  }
}

/** The end of an identifier, which tells apps of the same name apart, as on the consent page. */
export function distinctiveIdOf(id: string): string {
  return id.includes('://') ? (URL.parse(id)?.host ?? id) : `…${id.slice(-6)}`;
}

/** The names of clients by identifier, with the end of it where several have the same name. */
export async function findAppNames(
  admin: Administration,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const names = await Promise.all(
    [...new Set(ids)].map(async (id) => [id, await findAppName(admin, id)] as const),
  );
  const counts = Map.groupBy(names, ([, name]) => name);
  return new Map(
    names.map(([id, name]) => [id, counts.get(name)?.length === 1 ? name : `${name} ${distinctiveIdOf(id)}`]),
  );
}

/** The addresses of accounts by identifier; one that is gone has its identifier. */
export async function findEmails(
  { store }: Pick<Administration, 'store'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const emails = [...new Set(ids)].map(
    async (id) => [id, (await store.findAccount(id))?.email ?? id] as const,
  );
  return new Map(await Promise.all(emails));
}

/** The server of a resource: its name and path, or the resource itself. */
export function serverOf(
  { servers }: Pick<Administration, 'servers'>,
  resource: string,
): { readonly name: string; readonly path: string | null } {
  const found = servers().find((server) => server.resource === resource);
  return found === undefined ? { name: resource, path: null } : { name: found.name, path: found.path };
}

/**
 * What scopes permit at servers in the words of these, which the consent page has; or the scopes themselves. A server that merges
 * others has those of its members.
 */
export function permissionsOf({
  servers,
}: Pick<Administration, 'servers'>): (scope: string, resources: readonly string[]) => string {
  const all = resourcesOf(servers());
  return (scope, resources) =>
    all
      .filter(({ resource, scopes }) => resources.includes(resource) && Object.hasOwn(scopes, scope))
      .map(({ scopes }) => scopes[scope])
      .find(Boolean) ?? scope;
}
