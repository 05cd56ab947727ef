/** Who lately called a server through which app, by the audit log, as far as a moment of search reaches. */
import type { Administration } from './administration.ts';
import { listEvents } from './events.ts';
import { DAY } from './statistics/event-time.ts';

/** Calls that are read, and milliseconds. */
const MAX_CALLS = 500;
const PATIENCE = 80;

/** A user, if the client does not act for itself, and a client. */
interface RecentCaller {
  readonly accountId: string | null;
  readonly clientId: string;
  /** Of the calls that were read. */
  readonly calls: number;
  readonly refused: number;
  /** Epoch milliseconds. */
  readonly lastAt: number;
}

/** The callers of the last day, the latest first. */
export async function findRecentCallers(
  admin: Administration,
  server: string,
): Promise<readonly RecentCaller[]> {
  const criteria = { type: 'call.finished', server, since: Date.now() - DAY };
  const { events } = await listEvents(admin, criteria, '', MAX_CALLS, PATIENCE);
  const callers = new Map<string, RecentCaller>();
  for (const { accountId, clientId, at, details } of events) {
    if (clientId === null) continue;
    const key = JSON.stringify([accountId, clientId]);
    const before = callers.get(key) ?? { accountId, clientId, calls: 0, refused: 0, lastAt: at };
    const refused = before.refused + (details['decision'] === 'allowed' ? 0 : 1);
    callers.set(key, { ...before, calls: before.calls + 1, refused });
  }
  return [...callers.values()];
}
