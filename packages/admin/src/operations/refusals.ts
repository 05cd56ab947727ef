/** Finds out why something was refused: by the reference code of an error page, or by whom and what it was about. */
import type { AuditEventRecord, AuthorizationStore } from '@portcullis/authorization-server/store';
import { listEvents, listEventsOfTypes } from './events.ts';
import type { EventCriteria, SearchedStore } from './search-events.ts';

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
  const all = Number.POSITIVE_INFINITY;
  const { events } = await listEvents(store, { reference }, '', all, all);
  return withTransactions(store, events.toReversed());
}

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
  store: SearchedStore,
  criteria: Pick<EventCriteria, 'user' | 'client' | 'server' | 'tool'>,
  limit: number,
): Promise<readonly AuditEventRecord[]> {
  const { server, tool } = criteria;
  const isOfCall = server !== undefined || tool !== undefined;
  const types = isOfCall ? ['call.finished'] : ['call.finished', 'request.rejected'];
  const events = await listEventsOfTypes(store, types, criteria, MAX_EVENTS);
  return events.filter(({ details }) => details['decision'] !== 'allowed').slice(0, limit);
}
