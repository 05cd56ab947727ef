/**
 * One signed request to a webhook.
 * @see Standard Webhooks 1.0
 */
import { createHmac } from 'node:crypto';
import type { OutboundSettings } from '@portcullis/authorization-server';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { explainConnectionError } from '@portcullis/http';
import { createOutboundFetch } from '@portcullis/http/outbound';
import { eventBody } from './event-body.ts';
import { readWebhookSecret, type Webhook } from './options.ts';

/** The outcome of a request. */
export interface DeliveryAttempt {
  /** A `rejected` event would be rejected again; a receiver that `failed` may accept it later. */
  readonly kind: 'delivered' | 'failed' | 'rejected';
  readonly reason: string | null;
  /** Seconds. */
  readonly retryAfter: number;
}

export const DELIVERED: DeliveryAttempt = { kind: 'delivered', reason: null, retryAfter: 0 };

/** @param otherwise the reason if the error gives none */
export function failedBy(error: unknown, otherwise: string): DeliveryAttempt {
  return { kind: 'failed', reason: error instanceof Error ? error.message : otherwise, retryAfter: 0 };
}

/** Sends an event. Never rejects. */
export type SendEvent = (event: AuditEventRecord) => Promise<DeliveryAttempt>;

const TIMEOUT = 15_000;
const MAX_RESPONSE_BYTES = 16_384;
export const LONGEST_RETRY_AFTER = 3600;

/** Statuses about the event itself. @see RFC 9110 §15.5 */
const REJECTIONS: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** Sends a body to the address of a receiver. Never rejects. */
type Post = (headers: Readonly<Record<string, string>>, body: string) => Promise<DeliveryAttempt>;

interface PostOptions {
  /** Reads the body of a response that says success. @returns why the event was rejected all the same */
  readonly findRejection?: (body: string) => string | null;
  /** Reads the body of a response that rejects the event. @returns why it may be accepted later all the same; `null`: it would not */
  readonly findObstacle?: (body: string) => string | null;
  /** Whether the operator chose the address; `false`: it must be public. */
  readonly isTrusted?: boolean;
}

export function createPost(
  url: string,
  { proxy, noProxy = [], ...outbound }: OutboundSettings,
  { findRejection, findObstacle, isTrusted = true }: PostOptions = {},
): Post {
  const fetch =
    outbound.fetch ??
    createOutboundFetch({
      timeout: TIMEOUT,
      maxBytes: MAX_RESPONSE_BYTES,
      allowLoopback: isTrusted || outbound.allowLoopback === true,
      allowedPrivateOrigins: isTrusted ? [new URL(url).origin] : [],
      ...(proxy !== undefined && { proxy: { url: proxy, bypass: noProxy, mayResolve: () => isTrusted } }),
    });
  return async (headers, body) => {
    try {
      const response = await fetch(url, { method: 'POST', headers, body });
      const attempt = readResponse(response);
      if (attempt.kind === 'rejected' && findObstacle !== undefined) {
        const obstacle = findObstacle(await response.text());
        return obstacle === null ? attempt : { ...attempt, kind: 'failed', reason: obstacle };
      }
      if (findRejection === undefined || attempt.kind !== 'delivered') {
        await response.body?.cancel();
        return attempt;
      }
      const reason = findRejection(await response.text());
      return reason === null ? attempt : { kind: 'rejected', reason, retryAfter: 0 };
    } catch (error) {
      // Of an address that a receiver chose, it would tell about the network here.
      const cause = isTrusted ? explainConnectionError(error) : null;
      const failed = failedBy(error, 'no response');
      return cause === null ? failed : { ...failed, reason: `The server could not be reached: ${cause}.` };
    }
  };
}

/** @param clock epoch milliseconds @see Standard Webhooks 1.0, "Webhook signatures" */
export function createSend(
  { url, secret }: Pick<Webhook, 'url' | 'secret'>,
  outbound: OutboundSettings,
  clock: () => number,
): SendEvent {
  const key = readWebhookSecret(secret) ?? new Uint8Array();
  const post = createPost(url, outbound);
  return (event) => {
    const body = JSON.stringify(eventBody(event));
    const timestamp = Math.floor(clock() / 1000);
    const signature = createHmac('sha256', key).update(`${event.id}.${timestamp}.${body}`).digest('base64');
    const headers = {
      'content-type': 'application/json',
      // The same at each attempt.
      'webhook-id': event.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signature}`,
    };
    return post(headers, body);
  };
}

function readResponse({ ok, status, headers }: Response): DeliveryAttempt {
  if (ok) return DELIVERED;
  const seconds = /^\d{1,6}$/.exec(headers.get('retry-after') ?? '')?.[0] ?? '0';
  const retryAfter = Math.min(Number(seconds), LONGEST_RETRY_AFTER);
  return { kind: REJECTIONS.has(status) ? 'rejected' : 'failed', reason: `status ${status}`, retryAfter };
}
