/** Operations on what is sent of events: webhooks, exports and mail. */
import type { WebhookProgress } from '@portcullis/authorization-server/store';
import { type Administration, type AdminRequest, recordChange } from './administration.ts';
import { MAIL_PROGRESS } from './component-events.ts';
import { found, OperationError } from './errors.ts';
import { idPrefixOf } from './statistics/event-time.ts';

/** How far a receiver is. `null`: no server has started with it yet. */
type Progress = Pick<WebhookProgress, 'attempts' | 'lastError' | 'nextAttemptAt' | 'deliveredAt'> | null;

/** The receivers of events, in the order of the configuration. */
export async function listReceivers({ receivers, store }: Administration): Promise<
  readonly {
    readonly name: string;
    readonly host: string;
    readonly types: readonly string[] | null;
    readonly progress: Progress;
  }[]
> {
  const all = await store.listWebhooks();
  return receivers.map(({ name, host, types }) => ({
    ...{ name, host, types },
    progress: all.find((one) => one.name === name) ?? null,
  }));
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

/** The mail server, and how far mail is. `null`: no mail is sent. */
export async function showMail({ mail, store }: Administration): Promise<{
  readonly server: string | null;
  readonly progress: Progress;
}> {
  const progress = (await store.listWebhooks()).find(({ name }) => name === MAIL_PROGRESS) ?? null;
  return { server: mail?.server ?? null, progress };
}

/** Sends a test mail. @throws OperationError with what the mail server responds */
export async function tryMail(request: AdminRequest, to: string): Promise<void> {
  const { mail } = request.admin;
  if (mail === null) throw new OperationError('conflict', 'No mail is sent: the setting mail is not set.');
  const outcome = await mail.sendTest(to);
  if (outcome.kind !== 'delivered') throw notAccepted('The mail server', outcome.reason);
  recordChange(request, 'mail.test', to);
}
