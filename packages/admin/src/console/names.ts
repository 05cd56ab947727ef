/** Names of clients and servers, as pages show them in place of identifiers. */
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

/** The names of clients by identifier. */
export async function findAppNames(
  admin: Administration,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const names = [...new Set(ids)].map(async (id) => [id, await findAppName(admin, id)] as const);
  return new Map(await Promise.all(names));
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

/** What a scope permits in the words of its server, which the consent page has; or the scope itself. */
export function permissionOf(
  { servers }: Pick<Administration, 'servers'>,
  scope: string,
  resources: readonly string[],
): string {
  const own = servers().filter(({ resource }) => resources.includes(resource));
  return (
    own.map(({ scopes }) => (Object.hasOwn(scopes, scope) ? scopes[scope] : undefined)).find(Boolean) ?? scope
  );
}
