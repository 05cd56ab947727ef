/**
 * One signed request to a webhook.
 * @see Standard Webhooks 1.0
 */
import type { OutboundSettings } from '@portcullis/authorization-server';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { createOutboundFetch } from '@portcullis/http/outbound';
import type { Webhook } from './options.ts';
import { readWebhookSecret, signWebhook } from './signature.ts';

/** The outcome of a request. */
export interface DeliveryAttempt {
  /** A `rejected` event would be rejected again; a receiver that `failed` may accept it later. */
  readonly kind: 'delivered' | 'failed' | 'rejected';
  readonly reason: string | null;
  /** Seconds. */
  readonly retryAfter: number;
}

/** Sends an event. Never rejects. */
export type SendEvent = (event: AuditEventRecord) => Promise<DeliveryAttempt>;

const TIMEOUT = 15_000;
const MAX_RESPONSE_BYTES = 16_384;
const LONGEST_RETRY_AFTER = 3600;

/** Statuses about the event itself. @see RFC 9110 §15.5 */
const REJECTIONS: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** @param clock epoch milliseconds */
export function createSend(
  { url, secret }: Pick<Webhook, 'url' | 'secret'>,
  { proxy, noProxy = [], ...outbound }: OutboundSettings,
  clock: () => number,
): SendEvent {
  const key = readWebhookSecret(secret) ?? new Uint8Array();
  const fetch =
    outbound.fetch ??
    createOutboundFetch({
      timeout: TIMEOUT,
      maxBytes: MAX_RESPONSE_BYTES,
      // The operator chose this address.
      allowLoopback: true,
      allowedPrivateOrigins: [new URL(url).origin],
      ...(proxy !== undefined && { proxy: { url: proxy, bypass: noProxy, mayResolve: () => true } }),
    });
  return async (event) => {
    const body = bodyOf(event);
    const headers = signWebhook(key, { id: event.id, timestamp: Math.floor(clock() / 1000), body });
    try {
      const response = await fetch(url, { method: 'POST', headers, body });
      await response.body?.cancel();
      return readResponse(response);
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'no response';
      return { kind: 'failed', reason, retryAfter: 0 };
    }
  };
}

function readResponse({ ok, status, headers }: Response): DeliveryAttempt {
  if (ok) return { kind: 'delivered', reason: null, retryAfter: 0 };
  const seconds = /^\d{1,6}$/.exec(headers.get('retry-after') ?? '')?.[0] ?? '0';
  const retryAfter = Math.min(Number(seconds), LONGEST_RETRY_AFTER);
  return { kind: REJECTIONS.has(status) ? 'rejected' : 'failed', reason: `status ${status}`, retryAfter };
}

/** @see Standard Webhooks 1.0, "Payload structure" */
function bodyOf({ id, at, type, details, expiresAt: _, ...members }: AuditEventRecord): string {
  const known = Object.entries({ ...members, ...details }).filter(([, value]) => value !== null);
  return JSON.stringify({
    id,
    type,
    timestamp: new Date(at).toISOString(),
    data: Object.fromEntries(known),
  });
}
