/** What needs the attention of an operator, in sentences. */
import type { Administration } from './administration.ts';
import { listEvents } from './events.ts';
import { MAIL_PROGRESS } from './mail-event.ts';

/** One thing that waits for an operator. */
export interface Attention {
  readonly about: 'approvals' | 'tools' | 'server' | 'keys' | 'delivery' | 'clock' | 'apps';
  /** Path of a server; empty for the others. */
  readonly target: string;
  readonly sentence: string;
  /** Whether something does not work until it is solved. */
  readonly isUrgent: boolean;
}

/** Definitions of one query. */
const MAX_PENDING = 1000;
/** Seconds that clocks may differ. */
const MAX_SKEW = 5;
/** Seconds after which a signing key should be rotated. */
const OLD_KEY = 400 * 86_400;
const DAY = 86_400_000;
/** Milliseconds to search for apps that registered. */
const PATIENCE = 50;
const MAX_APPS = 50;
/** Failures in a row of a delivery that is more than a restart of its receiver. */
const MIN_FAILURES = 3;
/** Seconds after which no process tries it any more: it is not configured. */
const LONGEST_PAUSE = 3600;

/** The urgent ones first. */
export async function findAttention(admin: Administration): Promise<readonly Attention[]> {
  const [approvals, pins, keys, deliveries, skew, apps] = await Promise.all([
    admin.approvals.list(),
    admin.store.listPendingPins(MAX_PENDING),
    admin.keys.list(),
    admin.store.listWebhooks(),
    readSkew(admin),
    listEvents(admin, { type: 'client.registered', since: Date.now() - DAY }, '', MAX_APPS, PATIENCE),
  ]);
  const old = keys.filter(
    ({ state, createdAt }) => state === 'signing' && admin.clock() - createdAt > OLD_KEY,
  );
  const registered = apps.events.length;
  const failing = deliveries.filter(
    ({ attempts, nextAttemptAt }) =>
      attempts >= MIN_FAILURES && nextAttemptAt > admin.clock() - LONGEST_PAUSE,
  );
  const down = admin.health().filter(({ status }) => status === 'down');
  const changed = Map.groupBy(pins, ({ server }) => server);
  const lost = keys.filter(({ canDecrypt, state }) => !canDecrypt && state !== 'retired');
  return [
    ...down.map(({ server }) =>
      attention('server', server, `The server ${server} is down: calls to it fail.`, true),
    ),
    ...failing.map(({ name, lastError }) => {
      const what = name === MAIL_PROGRESS ? 'No mail is sent' : `${name} accepts no events`;
      return attention('delivery', name, `${what}: ${lastError ?? ''}.`, true);
    }),
    ...(lost.length > 0
      ? [
          attention(
            'keys',
            '',
            `${sayCount(lost.length, 'signing key')} cannot be decrypted with the current master key.`,
            true,
          ),
        ]
      : []),
    ...(Math.abs(skew) > MAX_SKEW
      ? [
          attention(
            'clock',
            '',
            `The clock of this server is ${sayCount(Math.round(Math.abs(skew)), 'second')} ${skew > 0 ? 'ahead of' : 'behind'} the database: synchronize them, or tokens expire at wrong times.`,
            true,
          ),
        ]
      : []),
    ...(approvals.length > 0
      ? [
          attention(
            'approvals',
            '',
            `${sayCount(approvals.length, 'call')} ${approvals.length === 1 ? 'waits' : 'wait'} for an approval.`,
          ),
        ]
      : []),
    ...[...changed].map(([server, tools]) =>
      attention(
        'tools',
        server,
        `${sayCount(tools.length, 'tool')} of ${server} changed or ${tools.length === 1 ? 'is' : 'are'} new, and ${tools.length === 1 ? 'stays' : 'stay'} hidden until reviewed.`,
      ),
    ),
    ...(old.length > 0
      ? [
          attention(
            'keys',
            '',
            'The signing key is more than a year old: rotate it, without any interruption.',
          ),
        ]
      : []),
    ...(registered > 0
      ? [
          attention(
            'apps',
            '',
            `${registered === MAX_APPS ? `${MAX_APPS} or more apps` : sayCount(registered, 'app')} registered in the last day, and no operator has verified ${registered === 1 ? 'it' : 'them'}.`,
          ),
        ]
      : []),
  ];
}

function attention(about: Attention['about'], target: string, sentence: string, isUrgent = false): Attention {
  return { about, target, sentence, isUrgent };
}

function sayCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Seconds that this process is ahead of the database; 0 for SQLite, which has no clock. */
async function readSkew({ store }: Administration): Promise<number> {
  const clock = await store.readClock();
  return clock === null ? 0 : Date.now() / 1000 - clock;
}
