/** Finding clients: those of the configuration first, then those of the store, then those that a document describes. */
import type { ServerContext } from '../context.ts';
import type { ClientRecord } from '../store/index.ts';
import type { ConfiguredClient, ResolvedClient } from './client.ts';
import type { ResolveDocumentClient } from './metadata-document/resolve-document-client.ts';

/** No identifier that this server gives or accepts is longer. */
const LONGEST_ID = 2048;

type Moment = 'start' | 'authenticate' | 'resume';

/**
 * Answers the client of an identifier; `null` when there is none.
 * @param moment whether a flow of the client begins; or is under way already: then what was known at its beginning will do; or
 *   the client proves itself, which it may do to end a flow that began before its time was over
 * @param network where the question comes from: strangers of one network have hosts asked only so often
 * @throws OAuthError `invalid_client` when its metadata document cannot be used
 */
export type FindClient = (
  id: string,
  moment?: Moment,
  network?: string | null,
) => Promise<ResolvedClient | null>;

/** @param findDocumentClient `null`: no identifier is an address */
export function createFindClient(
  { store, clock, options: { clients } }: Pick<ServerContext, 'store' | 'clock' | 'options'>,
  findDocumentClient: ResolveDocumentClient | null,
): FindClient {
  const configured = new Map(
    [...clients.values()].map((client) => [client.id, Promise.resolve(resolveConfigured(client))]),
  );
  return (id, moment = 'start', network = null) => configured.get(id) ?? findOther(id, moment, network);

  async function findOther(
    id: string,
    moment: Moment,
    network: string | null,
  ): Promise<ResolvedClient | null> {
    if (id === '' || id.length > LONGEST_ID) return null;
    const record = await store.findClient(id);
    if (record !== null) {
      if (record.disabledAt !== null || (moment === 'start' && isOver(record, clock()))) return null;
      const { origin, metadata, secretHash, lastUsedAt } = record;
      return { id: record.id, origin, metadata, secretHash, digest: null, lastUsedAt };
    }
    return findDocumentClient === null || !looksLikeAddress(id)
      ? null
      : findDocumentClient(id, moment === 'resume' ? moment : 'start', network);
  }
}

/** Whether the time of a client that was never used is over. The store leaves it alone until what began before has ended. */
function isOver({ lastUsedAt, expiresAt }: ClientRecord, now: number): boolean {
  return lastUsedAt === null && expiresAt !== null && expiresAt <= now;
}

function resolveConfigured({ id, metadata, secretHash }: ConfiguredClient): ResolvedClient {
  return { id, origin: 'configured', metadata, secretHash, digest: null, lastUsedAt: null };
}

/** No identifier that this server gives looks so. Whether the address may be asked is judged elsewhere. */
function looksLikeAddress(id: string): boolean {
  return /^\s*https?:/i.test(id);
}
