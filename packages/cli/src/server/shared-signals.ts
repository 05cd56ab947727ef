/** The transmitter of security events of this process, loaded only if it is configured. */
import { transmitterResourceOf } from '@portcullis/admin/options';
import type { EventTransmitter, StreamEvent } from '@portcullis/admin/shared-signals';
import type { AuthorizationServerOptions } from '@portcullis/authorization-server';
import type { Guard, ResourceOptions } from '@portcullis/resource-server';
import { NOT_ROUTINE, reportDelivery } from './delivery.ts';
import type { LastingServer } from './lasting-server.ts';
import type { Parts } from './parts.ts';

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
  parts: Parts,
  server: LastingServer,
  createGuard: (resources: readonly ResourceOptions[]) => Guard,
): Promise<EventTransmitter | null> {
  const { settings } = parts.prepared;
  if (settings.sharedSignals === null) return null;
  const { createEventTransmitter } = await import('@portcullis/admin/shared-signals');
  return createEventTransmitter({
    ...{ issuer: parts.issuer, store: parts.storage.store, createGuard, clock: Date.now },
    settings: settings.sharedSignals,
    outbound: settings.outbound,
    keys: server.securityEventKeys,
    events: (event) => server.recordOf<StreamEvent>({ ...NOT_ROUTINE, listener: parts.log }, event),
    report: ({ id }, report) => reportDelivery(id, report, parts, server),
  });
}
