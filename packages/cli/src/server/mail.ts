/** The delivery of mails about audit events. Off without the setting `mail`. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createMailer,
  createMailSend,
  MAIL_EVENTS,
  MAIL_PROGRESS,
  type MailEvent,
} from '@portcullis/admin/mail';
import type { MailOptions } from '@portcullis/admin/options';
import { createDelivery, type DeliveryReport } from '@portcullis/admin/webhooks';
import type { MailedLinks } from '@portcullis/authorization-server';
import type { Composition } from './compose.ts';
import { NOT_ROUTINE, startDelivery } from './delivery.ts';
import type { Parts } from './parts.ts';
import { lookOf } from './test-mail.ts';

type Services = Pick<Parts, 'storage' | 'log' | 'metrics' | 'prepared' | 'issuer'>;

/** Milliseconds that a stopping process waits for a slow mail server; what it has not confirmed is sent again. */
const STOP_TIMEOUT = 5_000;

/** Starts to send. @returns a function that stops it, after the mails in progress unless they are slow */
export function startMail(
  options: MailOptions,
  services: Services,
  composition: Composition,
): () => Promise<void> {
  const { storage, issuer, prepared } = services;
  const look = lookOf(prepared.settings, issuer);
  const delivery = createDelivery({
    webhook: { name: MAIL_PROGRESS, types: MAIL_EVENTS },
    store: storage.store,
    send: createMailSend({
      options,
      look,
      origin: new URL(issuer).origin,
      links: () => linksOf(composition),
      store: storage.store,
      sendMail: createMailer(options, look.serverName),
      clock: Date.now,
    }),
    clock: Date.now,
    report: (report) => reportOutcome(report, services, composition),
  });
  const stop = startDelivery(() => delivery);
  return () => Promise.race([stop(), sleep(STOP_TIMEOUT, undefined, { ref: false })]);
}

function linksOf({ authorizationServer: { mailedLinks } }: Composition): MailedLinks {
  if (mailedLinks === null) throw new Error('the setting `mail` was removed: restart the server');
  return mailedLinks;
}

/** A mail server that fails is logged once, and once when it works again. */
function reportOutcome(
  { outcome, event, reason, failures }: DeliveryReport,
  { log, metrics }: Services,
  { authorizationServer }: Composition,
): void {
  metrics.mail.count(outcome, event.at);
  if (outcome === 'failed' && failures === 0) log({ type: 'mail.failed', reason });
  if (outcome === 'delivered' && failures > 0) log({ type: 'mail.recovered' });
  if (outcome !== 'rejected') return;
  authorizationServer.recordOf<MailEvent>(
    { ...NOT_ROUTINE, listener: log },
    {
      type: 'mail.rejected',
      eventId: event.id,
      reason: reason ?? '',
      ...(event.accountId !== null && { accountId: event.accountId }),
    },
  );
}
