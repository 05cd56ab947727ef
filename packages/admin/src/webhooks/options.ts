/** The setting `webhooks`: where audit events are delivered. */
import {
  checkedText,
  lazy,
  list,
  type OutputOf,
  optional,
  secret,
} from '@portcullis/authorization-server/options';
import { isSecureUrl, readWebUrl } from '@portcullis/protocol';
import * as z from 'zod';
import { checkEventType } from '../operations/event-types.ts';

const url = lazy(() =>
  checkedText('an https URL', (value) => {
    const parsed = readWebUrl(value);
    return parsed !== null && isSecureUrl(parsed) ? null : 'must be an https URL; http only on loopback';
  }),
);

/** The schema of the name of a receiver. */
export const receiverName = lazy(() =>
  checkedText('a name', (value) =>
    /^[a-z0-9][a-z0-9-]{0,63}$/.test(value) ? null : 'must be lower-case letters, digits and hyphens',
  ).describe('identifies it in `portcullis webhooks`; a new name begins with new events'),
);

const eventPattern = lazy(() =>
  checkedText('a type of events, or `login.*`', (value) => {
    try {
      checkEventType(value);
      return null;
    } catch (error) {
      return `is unknown. ${(error as Error).message}`;
    }
  }),
);

/** The schema of the types of events that a receiver gets. */
export const eventTypes = lazy(() =>
  optional(list(eventPattern()), 'types of events, such as `grant.revoked` or `login.*`', 'all'),
);

/** Names identify the progress of receivers. */
export function reportRepeatedNames(
  receivers: readonly { readonly name: string }[],
  message: string,
  addIssue: (issue: { code: 'custom'; path: PropertyKey[]; message: string }) => void,
): void {
  for (const [index, one] of receivers.entries()) {
    if (receivers.findIndex((other) => other.name === one.name) < index)
      addIssue({ code: 'custom', path: [index, 'name'], message });
  }
}

const PREFIX = 'whsec_';
const LEAST_BYTES = 24;
const MOST_BYTES = 64;

/** Reads the key of a webhook's signatures. @returns `null`: it is malformed */
export function readWebhookSecret(secret: string): Buffer | null {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : '';
  const key = Buffer.from(encoded, 'base64');
  const isExact = key.toString('base64') === encoded;
  return isExact && key.length >= LEAST_BYTES && key.length <= MOST_BYTES ? key : null;
}

/** The schema of the setting `webhooks`. */
export const webhooksSchema = lazy(() =>
  list(
    z.strictObject({
      name: receiverName(),
      url: url().describe('receives each event as a POST request'),
      // @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
      secret: secret().describe('signs the requests: `whsec_` and 24 to 64 random bytes in base64'),
      types: eventTypes(),
    }),
  ).superRefine((webhooks, { addIssue }) => {
    reportRepeatedNames(webhooks, 'is the name of another webhook', addIssue);
    for (const [index, one] of webhooks.entries()) {
      if (readWebhookSecret(one.secret) === null)
        addIssue({
          code: 'custom',
          path: [index, 'secret'],
          message:
            'must be whsec_ and 24 to 64 random bytes in base64: echo "whsec_$(openssl rand -base64 32)"',
        });
    }
  }),
);

/** Where events are delivered, and which. */
export type Webhook = Readonly<OutputOf<typeof webhooksSchema>[number]>;
