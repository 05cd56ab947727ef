/** The transmitter of an identity provider: its configuration, the stream of this receiver, and polling. */
import { isMembers, type JsonFields, parseStrictJson } from '@portcullis/http';
import type { OutboundFetch } from '@portcullis/http/outbound';
import { isSecureUrl, readWebUrl } from '@portcullis/protocol';
import { createCachedDocument } from '../cached-document.ts';
import { createNamedFetch } from '../clients/metadata-document/outbound-settings.ts';
import type {
  FederationContext,
  IdentityProvider,
  SharedSignals,
} from '../federation/provider/identity-provider.ts';
import { requestedEvents } from './effects.ts';
import { createClientAccess, fixedAccess, type StreamAccess } from './stream-access.ts';

/** The transmitter's configuration metadata. @see Shared Signals Framework 1.0 §7.1 */
interface TransmitterMetadata {
  readonly jwksUri: string;
  readonly configuration: string | null;
  readonly verification: string | null;
}

/** The event stream of this receiver. @see Shared Signals Framework 1.0 §8.1.1 */
export interface EventStream {
  readonly id: string;
  readonly audience: readonly string[];
  /** Where to poll; `null`: the transmitter pushes. */
  readonly pollUrl: string | null;
}

/** What is reported with the next poll. @see RFC 8936 §2.2 */
export interface PollAcknowledgement {
  readonly ack: readonly string[];
  readonly setErrs: Readonly<Record<string, { readonly err: string; readonly description: string }>>;
}

export type Transmitter = ReturnType<typeof createTransmitter>;

const PUSH = 'urn:ietf:rfc:8935';
const POLL = 'urn:ietf:rfc:8936';
const MAX_RESPONSE_BYTES = 1_048_576;
/** Milliseconds that the transmitter may hold a poll. */
const POLL_TIMEOUT = 40_000;
/** Tokens of one poll. */
const MAX_TOKENS = 50;

/** @param endpoint of this receiver, for pushed tokens */
export function createTransmitter(
  context: FederationContext,
  identityProvider: IdentityProvider,
  { transmitter: issuer, delivery, token, client }: SharedSignals,
  endpoint: string,
) {
  const { clock } = context;
  const { outbound } = context.options;
  const fetchWithin = (timeout: number) =>
    createNamedFetch([new URL(issuer)], { ...outbound, timeout, maxBytes: MAX_RESPONSE_BYTES });
  const fetch = fetchWithin(outbound.timeout);
  const fixed = fixedAccess(token);
  const access = client === null ? fixed : createClientAccess(context, identityProvider, client, fetch);
  const send = createJsonClient(fetch, access);
  const sendOpen = createJsonClient(fetch, fixed);
  const sendPoll = createJsonClient(fetchWithin(POLL_TIMEOUT), access);
  const metadata = createCachedDocument(
    async () => readMetadata(issuer, await sendOpen('GET', metadataUrl(issuer))),
    { clock, timeout: outbound.timeout },
  );

  /** The stream, which is created if there is none. @throws Error */
  async function findStream(): Promise<EventStream> {
    const { configuration } = await metadata();
    if (configuration === null) throw new Error('its configuration has no configuration_endpoint');
    const own = await findOwn(configuration);
    const stream = own ?? (await send('POST', configuration, newStream(delivery, endpoint)));
    return readStream(issuer, delivery, stream);
  }

  /** A receiver with no stream yet gets an empty list, or 404. */
  async function findOwn(configuration: string): Promise<unknown> {
    const listed = await send('GET', configuration).catch((error: unknown) => {
      if (error instanceof TransmitterError && error.status === 404) return [];
      throw error;
    });
    const streams = Array.isArray(listed) ? listed : [listed];
    return streams.find((stream) => isMembers(stream) && isOwn(stream['delivery'], delivery, endpoint));
  }

  return {
    /** Where its keys are. @throws Error while it is unavailable and was never known */
    jwksUri: async (): Promise<string> => (await metadata()).jwksUri,
    findStream,
    /** Makes the transmitter send a verification event with this state. @throws Error */
    async verify({ id }: EventStream, state: string): Promise<void> {
      const { verification } = await metadata();
      if (verification !== null) await send('POST', verification, { stream_id: id, state });
    },
    /** Waits for tokens, up to half a minute. @returns security event tokens by their `jti` @throws Error @see RFC 8936 §2.3 */
    async poll(
      url: string,
      reported: PollAcknowledgement,
      signal: AbortSignal,
    ): Promise<Readonly<Record<string, unknown>>> {
      const body = { maxEvents: MAX_TOKENS, returnImmediately: false, ...reported };
      const response = await sendPoll('POST', url, body, signal);
      const sets = isMembers(response) ? response['sets'] : null;
      if (!isMembers(response) || !isMembers(sets)) throw new Error('its response to a poll has no sets');
      return sets;
    },
  };
}

class TransmitterError extends Error {
  override readonly name = 'TransmitterError';
  readonly status: number;

  constructor(status: number) {
    super(`it responded with status ${status}`);
    this.status = status;
  }
}

type SendJson = (
  method: 'GET' | 'POST',
  url: string,
  body?: object,
  signal?: AbortSignal,
) => Promise<unknown>;

function createJsonClient(fetch: OutboundFetch, access: StreamAccess): SendJson {
  const send = async (token: string | null, ...[method, url, body, signal]: Parameters<SendJson>) => {
    const response = await fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
      redirect: 'manual',
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return async (...request) => {
    const [, url] = request;
    const token = await access.token();
    const first = await send(token, ...request);
    const isRenewed = first.status === 401 && (await access.renew(url, token, first.headers));
    const { status, text } = isRenewed ? await send(await access.token(), ...request) : first;
    if (status < 200 || status > 299) throw new TransmitterError(status);
    return text === '' ? null : parseStrictJson(text);
  };
}

/** @see Shared Signals Framework 1.0 §7.2 */
function metadataUrl(issuer: string): string {
  const { origin, pathname } = new URL(issuer);
  return `${origin}/.well-known/ssf-configuration${pathname === '/' ? '' : pathname}`;
}

function readMetadata(issuer: string, document: unknown): TransmitterMetadata {
  if (!isMembers(document) || document['issuer'] !== issuer)
    throw new Error('its configuration names another issuer');
  const jwksUri = readUrl(document['jwks_uri']);
  if (jwksUri === null) throw new Error('its configuration has no https jwks_uri');
  return {
    jwksUri,
    configuration: readUrl(document['configuration_endpoint']),
    verification: readUrl(document['verification_endpoint']),
  };
}

function readUrl(value: unknown): string | null {
  const url = typeof value === 'string' ? readWebUrl(value) : null;
  return url !== null && isSecureUrl(url) ? url.href : null;
}

function newStream(delivery: SharedSignals['delivery'], endpoint: string): object {
  return {
    delivery: delivery === 'push' ? { method: PUSH, endpoint_url: endpoint } : { method: POLL },
    events_requested: requestedEvents,
    description: 'Portcullis',
  };
}

function isOwn(given: unknown, delivery: SharedSignals['delivery'], endpoint: string): boolean {
  if (!isMembers(given)) return false;
  return delivery === 'push'
    ? given['method'] === PUSH && given['endpoint_url'] === endpoint
    : given['method'] === POLL;
}

function readStream(issuer: string, delivery: SharedSignals['delivery'], stream: unknown): EventStream {
  const { stream_id: id, iss, aud, delivery: how }: JsonFields = isMembers(stream) ? stream : {};
  const audience = (Array.isArray(aud) ? aud : [aud]).filter((one) => typeof one === 'string');
  if (typeof id !== 'string' || iss !== issuer || audience.length === 0)
    throw new Error('its stream configuration lacks stream_id, iss or aud');
  const pollUrl = delivery === 'push' || !isMembers(how) ? null : readUrl(how['endpoint_url']);
  if (delivery === 'poll' && pollUrl === null) throw new Error('its stream has no https endpoint to poll');
  return { id, audience, pollUrl };
}
