/** The transmitter of security events of this process, loaded only if it is configured. */
import { setTimeout as sleep } from 'node:timers/promises';
import { transmitterResourceOf } from '@portcullis/admin/options';
import type { EventTransmitter, StreamEvent } from '@portcullis/admin/shared-signals';
import type { DeliveryReport, WebhookEvent } from '@portcullis/admin/webhooks';
import type { AuthorizationServerOptions } from '@portcullis/authorization-server';
import type { Guard, ResourceOptions } from '@portcullis/resource-server';
import type { LastingServer } from './lasting-server.ts';
import type { Parts } from './parts.ts';

/** Milliseconds to the next look at the streams. */
const INTERVAL = 1_000;

/** Limits the scopes of streams to the receivers, for the authorization server. */
export async function decideStreamScopes({
  prepared: { settings },
  issuer,
}: Parts): Promise<NonNullable<AuthorizationServerOptions['decideScopesOf']>> {
  if (settings.sharedSignals === null) return {};
  const { createDecideStreamScopes } = await import('@portcullis/admin/shared-signals');
  return { [transmitterResourceOf(issuer).resource]: createDecideStreamScopes(settings.sharedSignals) };
}

/** @returns `null`: it is off */
export async function loadTransmitter(
  { prepared: { settings }, issuer, storage: { store }, log, webhookMetrics }: Parts,
  server: LastingServer,
  createGuard: (resources: readonly ResourceOptions[]) => Guard,
): Promise<EventTransmitter | null> {
  if (settings.sharedSignals === null) return null;
  const { createEventTransmitter } = await import('@portcullis/admin/shared-signals');
  const recorded = { isRoutine: () => false, isBulk: () => false, listener: log };
  return createEventTransmitter({
    ...{ issuer, store, createGuard, clock: Date.now },
    settings: settings.sharedSignals,
    outbound: settings.outbound,
    keys: server.securityEventKeys,
    events: (event) => server.recordOf<StreamEvent>(recorded, event),
    report: ({ id }, { outcome, event, reason, failures }: DeliveryReport) => {
      webhookMetrics.count(id, outcome, event.at);
      if (outcome === 'failed' && failures === 0) log({ type: 'webhook.failed', webhook: id, reason });
      if (outcome === 'delivered' && failures > 0) log({ type: 'webhook.recovered', webhook: id });
      if (outcome !== 'rejected') return;
      server.recordOf<WebhookEvent>(recorded, {
        ...{ type: 'webhook.event_rejected', webhook: id, eventId: event.id, reason: reason ?? '' },
      });
    },
  });
}

/** Starts to push. @returns a function that stops it, after the requests in progress */
export function startPushDelivery({ push }: EventTransmitter): () => Promise<void> {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      // The store reports an outage by itself.
      await push.deliver().catch(() => {});
      await sleep(INTERVAL, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
    await push.release().catch(() => {});
  })();
  return async () => {
    stopping.abort();
    await running;
  };
}
