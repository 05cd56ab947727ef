/** What needs the attention of an operator, in sentences. */
import type { Administration } from './administration.ts';
import { MAIL_PROGRESS } from './mail-event.ts';

/** One thing that waits for an operator. */
export interface Attention {
  readonly about: 'approvals' | 'tools' | 'server' | 'keys' | 'delivery';
  /** Path of a server; empty for the others. */
  readonly target: string;
  readonly sentence: string;
  /** Whether something does not work until it is solved. */
  readonly isUrgent: boolean;
}

/** Definitions of one query. */
const MAX_PENDING = 1000;
/** Failures in a row of a delivery that is more than a restart of its receiver. */
const MIN_FAILURES = 3;
/** Seconds after which no process tries it any more: it is not configured. */
const LONGEST_PAUSE = 3600;

/** The urgent ones first. */
export async function findAttention(admin: Administration): Promise<readonly Attention[]> {
  const [approvals, pins, keys, deliveries] = await Promise.all([
    admin.approvals.list(),
    admin.store.listPendingPins(MAX_PENDING),
    admin.keys.list(),
    admin.store.listWebhooks(),
  ]);
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
  ];
}

function attention(about: Attention['about'], target: string, sentence: string, isUrgent = false): Attention {
  return { about, target, sentence, isUrgent };
}

function sayCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
