/** Finds a client by its identifier: in the configuration, in the store, or by its metadata document. */
import type { ClientRecord } from '../store/index.ts';
import { type ConfiguredClient, type ResolvedClient, UNREGISTERED } from './client.ts';
import type { ResolveDocumentClient } from './metadata-document/resolve-document-client.ts';
import type { ClientsContext } from './options.ts';

/** Characters of the longest identifier that this server issues or accepts. */
const MAX_ID_LENGTH = 2048;

/** What the client is needed for. */
type Purpose = 'start' | 'authenticate' | 'resume';

/**
 * Finds a client; `null` when it is unknown, disabled or expired.
 * @param purpose `start`: a new authorization; `resume`: one that has started, for which an earlier copy of its metadata
 *   document is enough; `authenticate`: also to complete an authorization that started before an unused client expired
 * @param site of the request, for the budget of outbound fetches
 * @throws OAuthError `invalid_client` when its metadata document cannot be used
 */
export type FindClient = (
  id: string,
  purpose?: Purpose,
  site?: string | null,
) => Promise<ResolvedClient | null>;

/** @param resolveDocumentClient `null`: metadata documents are disabled */
export function createFindClient(
  { store, clock, options: { clients } }: Pick<ClientsContext, 'store' | 'clock' | 'options'>,
  resolveDocumentClient: ResolveDocumentClient | null,
): FindClient {
  const configured = new Map(
    [...clients.values()].map((client) => [client.id, Promise.resolve(resolveConfigured(client))]),
  );
  return (id, purpose = 'start', site = null) => configured.get(id) ?? findOther(id, purpose, site);

  async function findOther(
    id: string,
    purpose: Purpose,
    site: string | null,
  ): Promise<ResolvedClient | null> {
    if (id === '' || id.length > MAX_ID_LENGTH) return null;
    const record = await store.findClient(id);
    if (record !== null) {
      if (record.disabledAt !== null || (purpose === 'start' && isExpired(record, clock()))) return null;
      const { origin, metadata, secretHash, previousSecret, lastUsedAt } = record;
      return {
        id: record.id,
        origin,
        metadata,
        secretHash,
        previousSecret,
        digest: null,
        registeredAt: record.createdAt,
        lastUsedAt,
        isVerified: record.verifiedAt !== null,
      };
    }
    return resolveDocumentClient === null || !looksLikeUrl(id)
      ? null
      : resolveDocumentClient(id, purpose === 'resume' ? purpose : 'start', site);
  }
}

/** Whether a client that was never used has expired. The store retains it until earlier authorizations are completed. */
function isExpired({ lastUsedAt, expiresAt }: ClientRecord, now: number): boolean {
  return lastUsedAt === null && expiresAt !== null && expiresAt <= now;
}

function resolveConfigured({ id, metadata, secretHash, previousSecret }: ConfiguredClient): ResolvedClient {
  return { ...UNREGISTERED, id, origin: 'configured', metadata, secretHash, previousSecret };
}

/** No identifier that this server issues is a URL. `validateDocumentUrl` decides whether it may be fetched. */
function looksLikeUrl(id: string): boolean {
  return /^\s*https?:/i.test(id);
}
