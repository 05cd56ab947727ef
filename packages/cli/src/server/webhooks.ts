/** The delivery of audit events to all receivers of a process. Off without the settings `webhooks` and `eventExports`. */
import { createDelivery } from '@portcullis/admin/webhooks';
import type { Composition } from './compose.ts';
import { deliverUntil, reportDelivery } from './delivery.ts';
import type { Parts } from './parts.ts';
import { type ConfiguredReceiver, type OpenReceiver, receiversOf } from './receivers.ts';

type Services = Pick<Parts, 'storage' | 'log' | 'metrics' | 'prepared'>;
type Audit = Pick<Composition, 'authorizationServer'>;

/** Starts to deliver: a new receiver gets what happens from then on. @returns a function that stops it, after the requests in progress */
export async function startWebhooks(
  services: Services,
  composition: Composition,
): Promise<() => Promise<void>> {
  const stopping = new AbortController();
  const opened = await Promise.all(
    receiversOf(services.prepared.settings).map(async (one) => ({ ...one, ...(await one.open()) })),
  );
  const running = opened.map((receiver) => deliverAll(receiver, services, composition, stopping.signal));
  return async () => {
    stopping.abort();
    await Promise.all(running);
  };
}

async function deliverAll(
  receiver: ConfiguredReceiver & OpenReceiver,
  services: Services,
  audit: Audit,
  stopping: AbortSignal,
): Promise<void> {
  const { send, close } = receiver;
  const delivery = createDelivery({
    webhook: receiver,
    store: services.storage.store,
    send,
    clock: Date.now,
    report: (report) => reportDelivery(receiver.name, report, services, audit.authorizationServer),
    isStopped: () => stopping.aborted,
  });
  await deliverUntil(delivery, stopping);
  await close?.();
}
