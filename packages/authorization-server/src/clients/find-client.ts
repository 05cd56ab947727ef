/** Finding clients: those of the configuration first, then those of the store. */
import type { Configuration } from '../configuration.ts';
import type { ResolvedClient } from './resolved-client.ts';

/** No identifier that this server gives or accepts is longer. */
const LONGEST_ID = 2048;

/** Answers the client of an identifier; `null` when there is none. */
export type FindClient = (id: string) => Promise<ResolvedClient | null>;

export function createFindClient({ clients, store }: Pick<Configuration, 'clients' | 'store'>): FindClient {
  return async (id) => {
    const configured = clients.get(id);
    if (configured !== undefined) return { ...configured, origin: 'configured' };
    if (id === '' || id.length > LONGEST_ID) return null;
    const record = await store.findClient(id);
    if (record === null) return null;
    const { origin, metadata, secretHash } = record;
    return { id: record.id, origin, metadata, secretHash };
  };
}
