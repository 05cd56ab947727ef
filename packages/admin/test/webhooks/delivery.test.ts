/** The delivery of audit events to a webhook: order, repetition, failures, and processes that share the work. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import type { FullStore } from '@portcullis/store';
import { expect, it, onTestFinished } from 'vitest';
import { openEmptyStore } from '../../../../tests/support/migrated-store.ts';
import { idPrefixOf } from '../../src/operations/statistics/event-time.ts';
import { createDelivery, type DeliveryReport } from '../../src/webhooks/delivery.ts';
import type { DeliveryAttempt } from '../../src/webhooks/send.ts';

const START = Date.UTC(2026, 0, 1);
const DELIVERED: DeliveryAttempt = { kind: 'delivered', reason: null, retryAfter: 0 };
const FAILED: DeliveryAttempt = { kind: 'failed', reason: 'status 503', retryAfter: 0 };
const REJECTED: DeliveryAttempt = { kind: 'rejected', reason: 'status 400', retryAfter: 0 };

interface Receiver {
  /** Suffixes of the identifiers of what was sent. */
  readonly sent: string[];
  readonly reports: DeliveryReport[];
  respond(event: AuditEventRecord): DeliveryAttempt | Promise<DeliveryAttempt>;
  deliver(): Promise<boolean>;
  release(): Promise<void>;
}

interface Log {
  readonly store: FullStore;
  /** Milliseconds since the start. */
  at: number;
  append(...events: readonly (Partial<AuditEventRecord> & { readonly name: string })[]): Promise<void>;
  /** Milliseconds since the start by the clock of a database that processes share; `null`: there is none. */
  databaseAt: number | null;
  receiver(types?: readonly string[], isStopped?: () => boolean): Receiver;
}

/** A log whose webhook has begun. */
async function openLog(): Promise<Log> {
  const store = await openEmptyStore();
  onTestFinished(() => store.close());
  const none = { clientId: null, accountId: null, grantId: null, resource: null, transactionId: null };
  const log: Log = {
    store,
    at: 0,
    databaseAt: null,
    append: (...events) =>
      store.appendEvents(
        events.map(({ name, at = log.at, ...event }) => ({
          ...none,
          id: idOf(name, at),
          at: START + at,
          type: 'grant.revoked',
          details: {},
          expiresAt: START,
          ...event,
        })),
      ),
    receiver(types, isStopped = () => false) {
      const receiver: Receiver = {
        sent: [],
        reports: [],
        respond: () => DELIVERED,
        ...createDelivery({
          webhook: { name: 'siem', types },
          store: {
            ...store,
            readClock: async () => (log.databaseAt === null ? null : (START + log.databaseAt) / 1000),
          },
          clock: () => START + log.at,
          isStopped,
          send: async (event) => {
            receiver.sent.push(event.id.split('-')[1] ?? '');
            return receiver.respond(event);
          },
          report: (report) => receiver.reports.push(report),
        }),
      };
      return receiver;
    },
  };
  await log.receiver().deliver();
  await store.rewindWebhook('siem', idPrefixOf(START));
  return log;
}

const idOf = (name: string, at: number) => `${idPrefixOf(START + at)}-${name}`;
/** Then no event of the past is still on its way. */
const SETTLED = 10_000;

it('a new webhook begins with the events after its start', async () => {
  const log = await openLog();
  await log.append({ name: 'before' });
  await log.store.setWebhookCursor('siem', idPrefixOf(START + 1));
  await log.append({ name: 'after', at: 2 });
  log.at = SETTLED;
  const receiver = log.receiver();
  await receiver.deliver();
  expect(receiver.sent).toEqual(['after']);
});

it('goes on with the events of the last ten minutes after the clock was ahead', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  log.at = 86_400_000;
  await log.append({ name: 'ahead' });
  log.at += SETTLED;
  await receiver.deliver();
  log.at = 600_000 + SETTLED;
  await log.append({ name: 'earlier', at: SETTLED - 1 }, { name: 'later', at: SETTLED });
  expect([await receiver.deliver(), await receiver.deliver()]).toEqual([true, true]);
  expect(receiver.sent).toEqual(['ahead', 'later']);
});

it('tries again at once after the clock was ahead when the receiver failed', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  await log.append({ name: 'a' });
  log.at = 86_400_000;
  receiver.respond = () => FAILED;
  expect(await receiver.deliver()).toBe(false);
  log.at = SETTLED;
  receiver.respond = () => DELIVERED;
  expect(await receiver.deliver()).toBe(true);
  expect(receiver.sent).toEqual(['a', 'a']);
});

it('sends each event once, when no earlier one can still be stored', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  await log.append({ name: 'a', at: 5 });
  log.at = 100;
  expect(await receiver.deliver()).toBe(false);
  expect(receiver.sent).toEqual([]);
  await log.append({ name: 'b', at: 4 });
  log.at = SETTLED;
  expect(await receiver.deliver()).toBe(true);
  expect(await receiver.deliver()).toBe(false);
  expect(receiver.sent).toEqual(['b', 'a']);
});

it('a batch that lasts longer than a lease is sent by one process, and one that was rewound meanwhile is sent again', async () => {
  const log = await openLog();
  const names = ['a', 'b', 'c', 'd'];
  await log.append(...names.map((name) => ({ name, grantId: 'grant' })));
  log.at = SETTLED;
  const [one, other] = [log.receiver(), log.receiver()];
  one.respond = async () => {
    log.at += 160_000;
    await other.deliver();
    return DELIVERED;
  };
  expect(await one.deliver()).toBe(true);
  await one.release();
  await other.deliver();
  expect([one.sent, other.sent]).toEqual([names, []]);
  await other.release();
  await log.store.rewindWebhook('siem', idPrefixOf(START));
  one.respond = async ({ id }) => {
    log.at += 160_000;
    if (id.endsWith('-a')) await log.store.rewindWebhook('siem', idPrefixOf(START - 1));
    return DELIVERED;
  };
  expect(await one.deliver()).toBe(false);
  expect(await log.store.listWebhooks()).toMatchObject([{ cursor: idPrefixOf(START - 1) }]);
});

it('begins no request once it is stopped, and the next process continues after the last one', async () => {
  const log = await openLog();
  await log.append(...['a', 'b', 'c'].map((name) => ({ name, grantId: 'grant' })));
  log.at = SETTLED;
  const stopping = new AbortController();
  const [one, other] = [log.receiver(undefined, () => stopping.signal.aborted), log.receiver()];
  one.respond = () => {
    stopping.abort();
    return DELIVERED;
  };
  await one.deliver();
  await one.release();
  expect(await other.deliver()).toBe(true);
  expect([one.sent, other.sent]).toEqual([['a'], ['b', 'c']]);
});

it('misses no event of other processes while the clock of its own is ahead', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  await log.append({ name: 'ahead', at: 20_000 }, { name: 'before', at: 1 });
  [log.at, log.databaseAt] = [30_000, 10_000];
  expect(await receiver.deliver()).toBe(true);
  await log.append({ name: 'after', at: 10_000 });
  [log.at, log.databaseAt] = [50_000, 30_000];
  expect(await receiver.deliver()).toBe(true);
  expect(receiver.sent).toEqual(['before', 'after', 'ahead']);
});

it('sends the types that are wanted, and none about webhooks', async () => {
  const log = await openLog();
  await log.append(
    { name: 'a', type: 'login.failed' },
    { name: 'b', type: 'token.issued' },
    { name: 'c', type: 'login.succeeded' },
    { name: 'd', type: 'webhook.event_rejected' },
  );
  log.at = SETTLED;
  const some = log.receiver(['login.*']);
  await some.deliver();
  await some.release();
  expect(some.sent).toEqual(['a', 'c']);
  await log.store.rewindWebhook('siem', idPrefixOf(START));
  const every = log.receiver();
  await every.deliver();
  expect(every.sent).toEqual(['a', 'b', 'c']);
});

it('keeps the order of each grant, and sends those of other grants meanwhile', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  await log.append(
    { name: 'a1', grantId: 'a' },
    { name: 'a2', grantId: 'a', at: 1 },
    { name: 'b1', grantId: 'b', at: 2 },
  );
  log.at = SETTLED;
  const first = Promise.withResolvers<DeliveryAttempt>();
  receiver.respond = ({ id }) => (id.endsWith('a1') ? first.promise : DELIVERED);
  const delivered = receiver.deliver();
  await expect.poll(() => receiver.sent).toEqual(['a1', 'b1']);
  first.resolve(DELIVERED);
  await delivered;
  expect(receiver.sent).toEqual(['a1', 'b1', 'a2']);
});

it('waits longer after each failure, sends the event again, and nothing after it before', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  await log.append({ name: 'a', grantId: 'a' }, { name: 'b', grantId: 'a', at: 1 });
  receiver.respond = () => FAILED;
  const waits: number[] = [];
  for (let at = SETTLED, last = SETTLED; waits.length < 6; at += 1000) {
    log.at = at;
    const { length } = receiver.sent;
    await receiver.deliver();
    if (receiver.sent.length === length) continue;
    waits.push((at - last) / 1000);
    last = at;
  }
  expect(waits).toEqual([0, 5, 15, 60, 300, 600]);
  expect(new Set(receiver.sent)).toEqual(new Set(['a']));
  expect(receiver.reports.map(({ failures }) => failures)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(await log.store.listWebhooks()).toMatchObject([{ attempts: 6, lastError: 'status 503' }]);
  receiver.respond = () => DELIVERED;
  log.at += 600_000;
  await receiver.deliver();
  expect(receiver.sent.slice(6)).toEqual(['a', 'b']);
  expect(await log.store.listWebhooks()).toMatchObject([{ attempts: 0, lastError: null }]);
});

it('waits as long as the receiver asks for', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  await log.append({ name: 'a' });
  receiver.respond = () => ({ ...FAILED, retryAfter: 120 });
  log.at = SETTLED;
  await receiver.deliver();
  expect(await log.store.listWebhooks()).toMatchObject([{ nextAttemptAt: START / 1000 + 130 }]);
});

it('gives up an event that the receiver rejects three times, and delivers those after it', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  await log.append(
    { name: 'a', grantId: 'a' },
    { name: 'bad', grantId: 'a', at: 1 },
    { name: 'c', grantId: 'a', at: 2 },
  );
  receiver.respond = ({ id }) => (id.endsWith('bad') ? REJECTED : DELIVERED);
  for (const at of [SETTLED, SETTLED + 5_000, SETTLED + 20_000]) {
    log.at = at;
    await receiver.deliver();
  }
  expect(receiver.sent).toEqual(['a', 'bad', 'bad', 'bad', 'c']);
  expect(receiver.reports.map(({ outcome }) => outcome)).toEqual([
    ...['delivered', 'failed', 'failed', 'rejected', 'delivered'],
  ]);
});

it('only the first of several events that fail at the same time counts as the first failure', async () => {
  const log = await openLog();
  await log.append(...['a', 'b', 'c', 'd'].map((name) => ({ name, grantId: name })));
  log.at = SETTLED;
  const receiver = log.receiver();
  receiver.respond = () => FAILED;
  await receiver.deliver();
  expect(receiver.reports.length).toBeGreaterThan(1);
  expect(receiver.reports.filter(({ failures }) => failures === 0)).toHaveLength(1);
});

it('failures of a receiver that was down do not count as rejections of an event', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  await log.append({ name: 'a' });
  const outcomes = [FAILED, FAILED, REJECTED, REJECTED, FAILED, REJECTED, DELIVERED];
  for (const [index, outcome] of outcomes.entries()) {
    receiver.respond = () => outcome;
    log.at = SETTLED + index * 3_600_000;
    await receiver.deliver();
  }
  expect(receiver.reports.map(({ outcome }) => outcome)).toEqual([
    ...Array.from({ length: 6 }, () => 'failed'),
    'delivered',
  ]);
});

it('never gives up an event while the receiver is down', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  await log.append({ name: 'a' });
  receiver.respond = () => FAILED;
  for (let hour = 0; hour < 100; hour += 1) {
    log.at = SETTLED + hour * 3_600_000;
    await receiver.deliver();
  }
  receiver.respond = () => DELIVERED;
  log.at += 3_600_000;
  await receiver.deliver();
  expect(receiver.reports.at(-1)).toMatchObject({ outcome: 'delivered', failures: 100 });
});

it('sends what was stored late, with the event that reports it', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  await log.append({ name: 'on-time', at: 1_000 }, { name: 'last', at: 20_000 });
  log.at = 60_000;
  await receiver.deliver();
  await log.append({ name: 'late-1', at: 1_500 }, { name: 'late-2', at: 19_000 });
  await receiver.deliver();
  expect(receiver.sent).toEqual(['on', 'last']);
  const details = { first: idOf('late-1', 1_500), last: idOf('late-2', 19_000), count: 2 };
  await log.append({ name: 'report', at: 60_001, type: 'audit.delayed', details });
  log.at = 90_000;
  await receiver.deliver();
  expect(receiver.sent.slice(2)).toEqual(['late', 'late', 'report']);
});

it('is done by one of two processes, and by the other after a release', async () => {
  const log = await openLog();
  const [one, other] = [log.receiver(), log.receiver()];
  await log.append({ name: 'a' });
  log.at = SETTLED;
  await Promise.all([one.deliver(), other.deliver()]);
  expect([...one.sent, ...other.sent]).toEqual(['a']);
  await log.append({ name: 'b', at: SETTLED + 1 });
  log.at = 3 * SETTLED;
  await one.release();
  await other.deliver();
  await other.release();
  await one.deliver();
  expect([...one.sent, ...other.sent].toSorted()).toEqual(['a', 'b']);
});

it('is done by another process ten seconds after one crashed that had nothing to send, and five minutes after one that sent', async () => {
  const log = await openLog();
  const [first, second, third] = [log.receiver(), log.receiver(), log.receiver()];
  await first.deliver();
  await log.append({ name: 'a' });
  log.at = SETTLED - 1;
  await second.deliver();
  expect(second.sent).toEqual([]);
  log.at = SETTLED;
  const crash = Promise.withResolvers<DeliveryAttempt>();
  second.respond = () => crash.promise;
  const crashed = second.deliver();
  await expect.poll(() => second.sent).toEqual(['a']);
  for (const elapsed of [100_000, 299_000]) {
    log.at = SETTLED + elapsed;
    await third.deliver();
    expect(third.sent).toEqual([]);
  }
  log.at = SETTLED + 300_000;
  await third.deliver();
  expect(third.sent).toEqual(['a']);
  crash.resolve(DELIVERED);
  await crashed;
});

it('repeats a batch whose progress was not saved', async () => {
  const log = await openLog();
  const receiver = log.receiver();
  await log.append({ name: 'a' });
  log.at = SETTLED;
  receiver.respond = async () => {
    await log.store.rewindWebhook('siem', idPrefixOf(START));
    return DELIVERED;
  };
  expect(await receiver.deliver()).toBe(false);
  receiver.respond = () => DELIVERED;
  await receiver.deliver();
  expect(receiver.sent).toEqual(['a', 'a']);
});
