/** Operations on what is sent of events: webhooks, exports and mail. */
import * as z from 'zod';
import { type Administration, type AdminRequest, recordChange } from './administration.ts';
import { MAIL_PROGRESS } from './component-events.ts';
import { found, OperationError } from './errors.ts';
import { idPrefixOf, timeOfId } from './statistics/event-time.ts';
import { isoTime, optionalTimeSchema } from './time-schema.ts';

const progressSchema = z
  .object({
    attempts: z.int().describe('failed ones in a row'),
    lastError: z.string().nullable(),
    nextAttemptAt: optionalTimeSchema('nothing has failed'),
    deliveredAt: isoTime().nullable().describe('ISO 8601, in UTC'),
    waitingSince: optionalTimeSchema('no event waits').describe(
      'time of the oldest event that is not handled yet, ISO 8601, in UTC; null: none waits',
    ),
  })
  .nullable()
  .describe('null: no server has started with it yet')
  .meta({ id: 'DeliveryProgress' });

export const webhookSchema = z
  .object({
    name: z.string(),
    host: z.string(),
    types: z.array(z.string()).nullable().describe('null: all events'),
    progress: progressSchema,
  })
  .meta({ id: 'Webhook' });

export const mailStatusSchema = z
  .object({ server: z.string().nullable().describe('null: no mail is sent'), progress: progressSchema })
  .meta({ id: 'Mail' });

/** Epoch seconds of the oldest event after a cursor; `null`: there is none. */
export async function waitingSince(
  store: Pick<Administration['store'], 'listEvents'>,
  cursor: string,
): Promise<number | null> {
  const [oldest] = await store.listEvents(cursor, 1);
  return oldest === undefined ? null : Math.floor(timeOfId(oldest.id) / 1000);
}

async function readProgress({ store }: Administration) {
  const all = await store.listWebhooks();
  return async (name: string): Promise<z.input<typeof progressSchema>> => {
    const progress = all.find((one) => one.name === name);
    if (progress === undefined) return null;
    const nextAttemptAt = progress.attempts === 0 ? null : progress.nextAttemptAt;
    return { ...progress, nextAttemptAt, waitingSince: await waitingSince(store, progress.cursor) };
  };
}

/** The receivers of events, in the order of the configuration. */
export async function listReceivers(
  admin: Administration,
): Promise<readonly z.input<typeof webhookSchema>[]> {
  const progressOf = await readProgress(admin);
  return Promise.all(
    admin.receivers.map(async ({ name, host, types }) => ({
      ...{ name, host, types: types && [...types] },
      progress: await progressOf(name),
    })),
  );
}

/** Sends a test event. @returns its identifier @throws OperationError with what the receiver responds */
export async function tryReceiver(request: AdminRequest, name: string): Promise<string> {
  const outcome = await receiverOf(request.admin, name).tryOut();
  if (outcome.kind !== 'delivered') throw notAccepted(name, outcome.reason);
  recordChange(request, 'webhooks.test', name, { after: { eventId: outcome.id } });
  return outcome.id;
}

/** Delivers events again. @param since epoch milliseconds @throws OperationError */
export async function replayEvents(request: AdminRequest, name: string, since: number): Promise<void> {
  const { admin } = request;
  receiverOf(admin, name);
  if (!(await admin.store.rewindWebhook(name, idPrefixOf(since))))
    throw new OperationError(
      'conflict',
      `No server has started with ${name} yet: there is nothing to deliver again.`,
    );
  recordChange(request, 'webhooks.replay', name, { after: { since: new Date(since).toISOString() } });
}

function receiverOf({ receivers }: Administration, name: string): Administration['receivers'][number] {
  return found(
    receivers.find((one) => one.name === name),
    `webhook ${name}`,
  );
}

function notAccepted(what: string, reason: string | null): OperationError {
  return new OperationError('conflict', `${what} did not accept it: ${reason ?? 'no reason is known'}`);
}

/** The mail server, and how far mail is. */
export async function showMail(admin: Administration): Promise<z.input<typeof mailStatusSchema>> {
  const progressOf = await readProgress(admin);
  return { server: admin.mail?.server ?? null, progress: await progressOf(MAIL_PROGRESS) };
}

/** Sends a test mail. @throws OperationError with what the mail server responds */
export async function tryMail(request: AdminRequest, to: string): Promise<void> {
  const { mail } = request.admin;
  if (mail === null) throw new OperationError('conflict', 'No mail is sent: the setting mail is not set.');
  const outcome = await mail.sendTest(to);
  if (outcome.kind !== 'delivered') throw notAccepted('The mail server', outcome.reason);
  recordChange(request, 'mail.test', to);
}
