/** Finds out why something was refused: by the reference code of an error page, or by whom and what it was about. */
import type { AuditEventRecord, AuthorizationStore } from '@portcullis/authorization-server/store';
import type { Administration } from './administration.ts';
import { listEvents } from './events.ts';
import { type EventCriteria, type SearchedStore, searchBack } from './search-events.ts';

/** Events of one authorization transaction, and of one kind of refusal, at most. */
const MAX_EVENTS = 1_000;

/** Normalizes a reference code as typed by a user: `k7m5 pmrh` is `K7M5-PMRH`. */
export function readReference(text: string): string {
  return text
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replace(/^(.{4})/, '$1-');
}

/** Searches all stored events. */
export async function findReference(
  store: SearchedStore,
  reference: string,
): Promise<readonly AuditEventRecord[]> {
  const found: AuditEventRecord[] = [];
  for await (const page of searchBack(store, { ...ANY, details: { reference } }))
    found.unshift(...page.filter(({ details }) => details['reference'] === reference));
  return withTransactions(store, found);
}

const ANY = { type: null, clientId: null, accountId: null, grantId: null };

/** Groups the events by transaction: what the client requested, and how far it got. */
async function withTransactions(
  store: AuthorizationStore,
  found: readonly AuditEventRecord[],
): Promise<readonly AuditEventRecord[]> {
  const ids = new Set(found.map(({ transactionId }) => transactionId).filter((id) => id !== null));
  const related = await Promise.all([...ids].map((id) => store.listTransactionEvents(id, MAX_EVENTS)));
  const before = related.flat().filter(({ id }) => !found.some((one) => one.id === id));
  return [...before, ...found];
}

/** The latest refusals that match all that is given, the latest first. */
export async function listRefusals(
  admin: Administration,
  { server, tool, ...who }: Pick<EventCriteria, 'user' | 'client' | 'server' | 'tool'>,
  limit: number,
): Promise<readonly AuditEventRecord[]> {
  const types =
    server === undefined && tool === undefined ? ['call.finished', 'request.rejected'] : ['call.finished'];
  const found = await Promise.all(
    types.map(
      async (type) => (await listEvents(admin, { ...who, server, tool, type }, '', MAX_EVENTS)).events,
    ),
  );
  return found
    .flat()
    .filter(({ details }) => details['decision'] !== 'allowed')
    .toSorted((one, other) => (one.id < other.id ? 1 : -1))
    .slice(0, limit);
}
