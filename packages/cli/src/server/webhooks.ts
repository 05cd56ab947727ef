/** The delivery of audit events to all receivers of a process. Off without the settings `webhooks` and `eventExports`. */
import { createDelivery } from '@portcullis/admin/webhooks';
import type { Composition } from './compose.ts';
import { reportDelivery, startDelivery } from './delivery.ts';
import type { Parts } from './parts.ts';
import { receiversOf } from './receivers.ts';

/** Starts to deliver: a new receiver gets what happens from then on. @returns a function that stops it, after the requests in progress */
export async function startWebhooks(
  services: Pick<Parts, 'storage' | 'log' | 'metrics' | 'prepared'>,
  audit: Pick<Composition, 'authorizationServer'>,
): Promise<() => Promise<void>> {
  const opened = await Promise.all(
    receiversOf(services.prepared.settings).map(async (one) => ({ ...one, ...(await one.open()) })),
  );
  const stops = opened.map(({ send, close, ...receiver }) => {
    const stop = startDelivery((isStopped) =>
      createDelivery({
        webhook: receiver,
        store: services.storage.store,
        send,
        clock: Date.now,
        report: (report) => reportDelivery(receiver.name, report, services, audit.authorizationServer),
        isStopped,
      }),
    );
    return async () => {
      await stop();
      await close?.();
    };
  });
  return async () => void (await Promise.all(stops.map((stop) => stop())));
}
