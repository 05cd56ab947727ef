/** What needs the attention of an operator, in sentences. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import type { Administration } from './administration.ts';
import { type DescribedClient, describeStored, isKnownClient } from './clients.ts';
import { MAIL_PROGRESS } from './component-events.ts';
import { listEvents } from './events.ts';
import { findProviderLogins } from './provider-status.ts';
import { DAY } from './statistics/event-time.ts';

/** One thing that waits for an operator. */
export interface Attention {
  readonly about: 'approvals' | 'tools' | 'server' | 'provider' | 'keys' | 'delivery' | 'clock' | 'apps';
  /** Path of a server, an identity provider, or the only app; empty for the others. */
  readonly target: string;
  readonly sentence: string;
  /** Whether something does not work until it is solved. */
  readonly isUrgent: boolean;
}

/** Approvals that are counted. */
const MAX_PENDING = 1000;
/** Seconds that clocks may differ. */
const MAX_SKEW = 5;
/** Seconds after which a signing key should be replaced where nothing replaces it, and by which a replacement may be late. */
const OLD_KEY = 365 * 86_400;
const LATE_ROTATION = 86_400;
/** Milliseconds for which a failed sign-in at an identity provider counts, unless one succeeds. */
const RECENT_FAILURE = 3_600_000;
/** Milliseconds to search for apps that registered. */
const PATIENCE = 50;
const MAX_APPS = 50;
/** Rejected requests that are read, and from how many on a clock is suspected. */
const MAX_REJECTED = 500;
const MIN_REJECTED = 3;
/** Failures in a row of a delivery that is more than a restart of its receiver. */
const MIN_FAILURES = 3;
/** Seconds after which no process tries it any more: it is not configured. */
const LONGEST_PAUSE = 3600;

/** The urgent ones first. */
export async function findAttention(admin: Administration): Promise<readonly Attention[]> {
  const [approvals, pins, keys, deliveries, skew, apps, changedApps, logins, late] = await Promise.all([
    admin.store.countPendingApprovals(admin.clock(), MAX_PENDING),
    admin.store.countPendingPins(),
    admin.keys.list(),
    admin.store.listWebhooks(),
    readSkew(admin),
    findUnverified(admin, 'client.registered', () => true),
    findUnverified(admin, 'client.changed', ({ details }) => details['verificationEnded'] === true),
    findProviderLogins(admin, Date.now() - RECENT_FAILURE),
    findLateClocks(admin),
  ]);
  const failing = deliveries.filter(
    ({ attempts, nextAttemptAt }) =>
      attempts >= MIN_FAILURES && nextAttemptAt > admin.clock() - LONGEST_PAUSE,
  );
  const down = admin.health().filter(({ status }) => status === 'down');
  const lost = keys.filter(({ canDecrypt, state }) => !canDecrypt && state !== 'retired');
  const all = [
    ...down.map(({ server }) => urgent('server', `The server ${server} is down: calls to it fail.`, server)),
    ...sayFailingProviders(admin, logins),
    ...failing.map(({ name, lastError }) => {
      const what = name === MAIL_PROGRESS ? 'No mail is sent' : `${name} accepts no events`;
      return urgent('delivery', `${what}: ${lastError ?? ''}.`, name);
    }),
    lost.length > 0 &&
      urgent(
        'keys',
        `${sayCount(lost.length, 'signing key')} cannot be decrypted with the current master key.`,
      ),
    Math.abs(skew) > MAX_SKEW &&
      urgent(
        'clock',
        `The clock of this server is ${sayCount(Math.round(Math.abs(skew)), 'second')} ${skew > 0 ? 'ahead of' : 'behind'} the database: synchronize them, or tokens expire at wrong times.`,
      ),
    approvals > 0 &&
      attention(
        'approvals',
        `${sayCount(approvals, 'call')} ${approvals === 1 ? 'waits' : 'wait'} for an approval.`,
      ),
    ...[...pins].map(([server, count]) =>
      attention(
        'tools',
        `${sayCount(count, 'tool')} of ${server} changed or ${count === 1 ? 'is' : 'are'} new, and ${count === 1 ? 'stays' : 'stay'} hidden until reviewed.`,
        server,
      ),
    ),
    sayKeyAge(admin, keys),
    late,
    ...changedApps.map((app) =>
      attention('apps', `${nameOf(app)} changed its metadata, which ended its verification.`, app.id),
    ),
    sayUnverified(apps.filter(({ id }) => changedApps.every((app) => app.id !== id))),
  ];
  return all.filter((one) => one !== false);
}

/** By the setting `keys.rotateEvery`, at which a running process replaces the key. */
function sayKeyAge(
  { clock, keyRotation }: Administration,
  keys: Awaited<ReturnType<Administration['keys']['list']>>,
): Attention | false {
  const signing = keys.find(({ state }) => state === 'signing');
  if (signing === undefined) return false;
  const age = clock() - signing.signsFrom;
  const days = sayCount(Math.floor(age / 86_400), 'day');
  if (keyRotation === null)
    return (
      age > OLD_KEY &&
      attention(
        'keys',
        `The signing key signs for ${days}, and keys.rotateEvery is off: rotate it, without any interruption.`,
      )
    );
  const isReplaced = keys.some(({ state }) => state === 'next');
  return (
    age > keyRotation + LATE_ROTATION &&
    !isReplaced &&
    urgent(
      'keys',
      `The signing key signs for ${days}, although keys.rotateEvery is ${sayCount(Math.round(keyRotation / 86_400), 'day')}: no process could replace it. Rotate it.`,
    )
  );
}

function sayFailingProviders(
  { identityProviders }: Administration,
  logins: Awaited<ReturnType<typeof findProviderLogins>>,
): readonly Attention[] {
  return identityProviders.flatMap(({ id, name }) => {
    const { lastSuccess = null, lastFailure = null } = logins.get(id) ?? {};
    if (lastFailure === null || lastFailure.at < Math.max(lastSuccess ?? 0, Date.now() - RECENT_FAILURE))
      return [];
    return [urgent('provider', `The last sign-in at ${name} failed: ${lastFailure.reason}.`, id)];
  });
}

/** Reasons of refusals that a wrong clock causes: of an app, an issuer or an identity provider. */
const CLOCK_REASONS = /issued in the future|iat is missing or too far off/;

/** Clients whose assertions or DPoP proofs had a time that cannot be, in the last day. */
async function findLateClocks(admin: Administration): Promise<Attention | false> {
  const criteria = { type: 'request.rejected', since: Date.now() - DAY };
  const { events } = await listEvents(admin.store, criteria, '', MAX_REJECTED, PATIENCE);
  const rejected = events.filter(({ details }) => CLOCK_REASONS.test(String(details['reason'])));
  const clients = new Set(rejected.flatMap(({ clientId }) => clientId ?? []));
  if (rejected.length < MIN_REJECTED) return false;
  const whose = clients.size === 0 ? 'a client' : sayCount(clients.size, 'app');
  return attention(
    'clock',
    `${sayCount(rejected.length, 'request')} of ${whose} had an assertion or proof from the future or the distant past in the last day: a clock there drifts, or the one here.`,
    'request.rejected',
  );
}

/** Apps of an event of the last day that are still there, enabled and unverified. */
async function findUnverified(
  admin: Administration,
  type: 'client.registered' | 'client.changed',
  matches: (event: AuditEventRecord) => boolean,
): Promise<readonly DescribedClient[]> {
  const { events } = await listEvents(admin.store, { type, since: Date.now() - DAY }, '', MAX_APPS, PATIENCE);
  const ids = new Set(events.filter(matches).flatMap(({ clientId }) => clientId ?? []));
  const found = await Promise.all([...ids].map((id) => admin.clients.find(id)));
  return found
    .filter((client) => client !== null)
    .map(describeStored)
    .filter((client) => client.disabledAt === null && !isKnownClient(client));
}

function nameOf({ metadata: { client_name: name } }: DescribedClient): string {
  return typeof name === 'string' && name.trim() !== '' ? name.trim().slice(0, 60) : 'An app without a name';
}

/** An app may register once for each user: how many names there are says how many to look at. */
function namesOf(apps: readonly DescribedClient[]): string {
  const { size } = new Set(apps.map(nameOf));
  return size === apps.length ? '' : ` with ${sayCount(size, 'name')}`;
}

function sayUnverified(apps: readonly DescribedClient[]): Attention | false {
  const [first] = apps;
  if (first === undefined) return false;
  const [what, target] =
    apps.length === 1
      ? [nameOf(first), first.id]
      : [
          `${apps.length === MAX_APPS ? `${MAX_APPS} or more apps` : sayCount(apps.length, 'app')}${namesOf(apps)}`,
          '',
        ];
  const them = apps.length === 1 ? 'it' : 'them';
  return attention(
    'apps',
    `${what} registered in the last day, and no operator has verified ${them}.`,
    target,
  );
}

function attention(about: Attention['about'], sentence: string, target = ''): Attention {
  return { about, target, sentence, isUrgent: false };
}

function urgent(about: Attention['about'], sentence: string, target = ''): Attention {
  return { about, target, sentence, isUrgent: true };
}

function sayCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Seconds that this process is ahead of the database; 0 for SQLite, which has no clock. */
async function readSkew({ store }: Administration): Promise<number> {
  const clock = await store.readClock();
  return clock === null ? 0 : Date.now() / 1000 - clock;
}
