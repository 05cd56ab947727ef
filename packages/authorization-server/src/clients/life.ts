/** The life of clients: short until the first token, renewed by each use. */
import type { Configuration } from '../configuration.ts';
import type { ResolvedClient } from './resolved-client.ts';

/** A use is noted once in so many seconds: a refresh costs no second write. */
const NOTED_EVERY = 86_400;

/** Notes that a client got a token. Never rejects: the token has been issued. */
export type NoteUse = (client: ResolvedClient) => Promise<void>;

export function createNoteUse({
  store,
  clock,
  lifetimes,
  events,
}: Pick<Configuration, 'store' | 'clock' | 'lifetimes' | 'events'>): NoteUse {
  const notes: Readonly<Record<ResolvedClient['origin'], (id: string, now: number) => Promise<void>>> = {
    configured: async () => {},
    administered: (id, now) => store.noteClientUse(id, now, null),
    registered: (id, now) => store.noteClientUse(id, now, now + lifetimes.usedClient),
    'metadata-document': (id, now) => store.noteClientDocumentUse(id, now, now + lifetimes.usedClient),
  };
  return async ({ id, origin, lastUsedAt }) => {
    const now = clock();
    if (lastUsedAt !== null && now < lastUsedAt + NOTED_EVERY) return;
    try {
      await notes[origin](id, now);
    } catch (error) {
      events({ type: 'request.failed', endpoint: '/token', clientId: id, reason: `use not noted: ${error}` });
    }
  };
}
