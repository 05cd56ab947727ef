/** The life of clients: short until the first token, renewed by each use. */
import type { ServerContext } from '../context.ts';
import type { ResolvedClient } from './client.ts';

/** A use is noted once in so many seconds: a refresh costs no second write. */
const NOTED_EVERY = 86_400;

/** Notes that a client got a token; `null`: there is nothing to note, as nearly always. Never rejects: the token has been issued. */
export type RecordClientUse = (client: ResolvedClient) => Promise<void> | null;

export function createRecordClientUse({
  store,
  clock,
  events,
  options: { lifetimes },
}: Pick<ServerContext, 'store' | 'clock' | 'events' | 'options'>): RecordClientUse {
  const notes: Readonly<Record<ResolvedClient['origin'], (id: string, now: number) => Promise<void> | null>> =
    {
      configured: () => null,
      administered: (id, now) => store.recordClientUse(id, now, null),
      registered: (id, now) => store.recordClientUse(id, now, now + lifetimes.usedClient),
      'metadata-document': (id, now) =>
        store.recordClientMetadataDocumentUse(id, now, now + lifetimes.usedClient),
    };
  return ({ id, origin, lastUsedAt }) => {
    const now = clock();
    if (lastUsedAt !== null && now < lastUsedAt + NOTED_EVERY) return null;
    const noted = notes[origin](id, now);
    return (
      noted?.catch((error: unknown) => {
        events({
          type: 'request.failed',
          endpoint: '/token',
          clientId: id,
          reason: `use not noted: ${error}`,
        });
      }) ?? null
    );
  };
}
