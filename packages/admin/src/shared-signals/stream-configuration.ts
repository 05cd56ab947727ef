/** The configuration of a stream: what its receiver supplies, read and checked, and the document that it gets. */
import { isDeepStrictEqual } from 'node:util';
import type { SecurityEventKeys } from '@portcullis/authorization-server';
import type { EventStreamRecord } from '@portcullis/authorization-server/store';
import { checkOutboundUrl } from '@portcullis/http/outbound';
import { readWebUrl } from '@portcullis/protocol';
import * as z from 'zod';
import { SSF_PATH } from './options.ts';
import { deliveredEvents, SUPPORTED_EVENTS } from './security-events.ts';
import { StreamError } from './stream-error.ts';

export const PUSH = 'urn:ietf:rfc:8935';
export const POLL = 'urn:ietf:rfc:8936';
/** Seconds between two verification events. */
export const VERIFICATION_INTERVAL = 1;

const MAX_DESCRIPTION = 500;

/** A text of a receiver: PostgreSQL stores no U+0000, and nothing shows other control characters. */
export const receiverText = z.string().regex(/^\P{Cc}*$/u, 'must have no control characters');

export const suppliedSchema = z.object({
  stream_id: z.string().max(100).optional(),
  events_requested: z.array(receiverText.max(500)).max(100).optional(),
  description: receiverText.optional(),
  delivery: z
    .object({
      // The receiver of caep.dev names it otherwise, and polls.
      method: z.string().default(POLL),
      endpoint_url: z.string().max(2000).optional(),
      authorization_header: z.string().max(8000).optional(),
    })
    .optional(),
});

/** What a receiver supplies. @see Shared Signals Framework 1.0 §8.1.1 */
export type SuppliedConfiguration = z.infer<typeof suppliedSchema>;

/** The members of a stream that a receiver supplies. */
export type SuppliedMembers = Pick<
  EventStreamRecord,
  'endpoint' | 'encryptedAuthorization' | 'eventsRequested' | 'description'
>;

/** @throws StreamError */
export function readBody<T>(schema: z.ZodType<T>, body: object): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new StreamError(400, `${issue?.path.join('.') || 'The body'}: ${issue?.message ?? 'is invalid'}`);
}

/** @param allowLoopback whether this server is on loopback itself */
export function suppliedMembersOf(
  id: string,
  { events_requested: requested = [], description, delivery = { method: POLL } }: SuppliedConfiguration,
  keys: Pick<SecurityEventKeys, 'encrypt'>,
  allowLoopback: boolean,
): SuppliedMembers {
  const { endpoint_url: endpoint, authorization_header: authorization, method } = delivery;
  if (method !== PUSH && method !== POLL)
    throw new StreamError(400, `The delivery method must be ${PUSH} or ${POLL}.`);
  if (authorization !== undefined && !/^[\x20-\x7e]+$/.test(authorization))
    throw new StreamError(400, 'The authorization_header must be printable ASCII.');
  const isPush = method === PUSH;
  return {
    endpoint: isPush ? checkEndpoint(endpoint, allowLoopback) : null,
    encryptedAuthorization: isPush && authorization !== undefined ? keys.encrypt(authorization, id) : null,
    // Types that this transmitter does not know are no error: they are ignored.
    eventsRequested: [...new Set(requested)],
    description: description?.slice(0, MAX_DESCRIPTION) ?? null,
  };
}

/** An address that may be contacted as far as it says itself; what its name resolves to is checked at each request (SSRF). */
function checkEndpoint(endpoint: string | undefined, allowLoopback: boolean): string {
  if (endpoint === undefined) throw new StreamError(400, 'A stream that is pushed needs an endpoint_url.');
  const destination = checkOutboundUrl(endpoint, { allowLoopback });
  if (destination.kind === 'blocked' || readWebUrl(endpoint) === null)
    throw new StreamError(
      400,
      'The endpoint_url must be an https URL at a public address: poll from a private network.',
    );
  return endpoint;
}

/** The document of a stream, without its `authorization_header`. @see Shared Signals Framework 1.0 §8.1.1 */
export function documentOf(
  { id, clientId, endpoint, eventsRequested, description }: EventStreamRecord,
  issuer: string,
): Readonly<Record<string, unknown>> {
  const delivery =
    endpoint === null
      ? { method: POLL, endpoint_url: `${new URL(issuer).origin}${SSF_PATH}/poll/${id}` }
      : { method: PUSH, endpoint_url: endpoint };
  return {
    stream_id: id,
    iss: issuer,
    aud: clientId,
    delivery,
    events_supported: SUPPORTED_EVENTS,
    ...(eventsRequested.length > 0 && { events_requested: eventsRequested }),
    events_delivered: deliveredEvents(eventsRequested),
    min_verification_interval: VERIFICATION_INTERVAL,
    ...(description !== null && { description }),
  };
}

const TRANSMITTER_SUPPLIED = [
  'iss',
  'aud',
  'events_supported',
  'events_delivered',
  'min_verification_interval',
];

/** "Transmitter-Supplied properties MAY be present, but they MUST match the expected value." @see §8.1.1.3 @throws StreamError */
export function checkTransmitterSupplied(body: object, document: Readonly<Record<string, unknown>>): void {
  const sorted = (value: unknown) => (Array.isArray(value) ? value.toSorted() : value);
  for (const name of TRANSMITTER_SUPPLIED) {
    const given: unknown = Reflect.get(body, name);
    if (given !== undefined && !isDeepStrictEqual(sorted(given), sorted(document[name])))
      throw new StreamError(400, `${name} is not that of the stream, and cannot be changed.`);
  }
}
