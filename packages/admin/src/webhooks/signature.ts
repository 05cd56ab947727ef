/**
 * The signature of a webhook.
 * @see Standard Webhooks 1.0, "Webhook signatures"
 */
import { createHmac } from 'node:crypto';

/** What a request is signed over. */
export interface SignedContent {
  /** Identifies the event: the same at each attempt. */
  readonly id: string;
  /** Epoch seconds of this attempt. */
  readonly timestamp: number;
  readonly body: string;
}

const PREFIX = 'whsec_';
const LEAST_BYTES = 24;
const MOST_BYTES = 64;

/** @returns the key; `null`: it is malformed */
export function readWebhookSecret(secret: string): Buffer | null {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : '';
  const key = Buffer.from(encoded, 'base64');
  const isExact = key.toString('base64') === encoded;
  return isExact && key.length >= LEAST_BYTES && key.length <= MOST_BYTES ? key : null;
}

/** The headers of a signed request. */
export function signWebhook(
  key: Uint8Array,
  { id, timestamp, body }: SignedContent,
): Readonly<Record<string, string>> {
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}
