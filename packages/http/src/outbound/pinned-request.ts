/**
 * Sends one request to addresses that the SSRF guard allowed: pinned against DNS rebinding, no redirects, limited
 * time and size.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { beforeAbort } from '@portcullis/protocol';
import { loadNodeHttps, nodeHttp } from '../node/node-http.ts';
import { openTunnel } from './egress-proxy.ts';
import { OutboundError } from './outbound-error.ts';

/** The request, and the addresses to connect to. */
export interface PinnedRequest {
  readonly url: URL;
  /** The allowed addresses; the connection goes to one of these only. With a proxy also a name. */
  readonly addresses: readonly string[];
  /** URL of the proxy that connects; `null` for a direct connection. */
  readonly proxy: string | null;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | null;
  readonly signal: AbortSignal;
  /** The maximum size of the response body, in bytes. */
  readonly limit: number;
  /** Certificate authorities in PEM, instead of the system's. */
  readonly authorities: readonly string[] | undefined;
}

/** Statuses whose responses have no body. */
const BODYLESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

/** Responses of status 1xx before the final one. */
const MAX_INFORMATIONAL = 20;

/**
 * Sends the request. The body of the returned `Response` fails at the limits of size and time.
 * @throws OutboundError
 */
export async function sendPinnedRequest(request: PinnedRequest): Promise<Response> {
  const message = await beforeAbort(send(request), request.signal);
  const status = message.statusCode ?? 0;
  const headers = new Headers();
  for (let index = 0; index + 1 < message.rawHeaders.length; index += 2) {
    headers.append(message.rawHeaders[index] ?? '', message.rawHeaders[index + 1] ?? '');
  }
  checkHead(message, status, headers, request.limit);
  if (BODYLESS_STATUSES.has(status) || request.method === 'HEAD') {
    message.destroy();
    return new Response(null, { status, headers });
  }
  return new Response(boundedBody(message, request), { status, headers });
}

async function send({
  url,
  addresses,
  proxy,
  method,
  headers,
  body,
  signal,
  authorities,
}: PinnedRequest): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const [target = host] = addresses;
  const tunnel = proxy === null ? null : await openTunnel(proxy, target, url.port || '443', signal);
  const options: RequestOptions = {
    method,
    host,
    ...(url.port !== '' && { port: url.port }),
    path: `${url.pathname}${url.search}`,
    headers: {
      ...Object.fromEntries(headers),
      host: url.host,
      // A compressed response could be small in transit and huge when read.
      'accept-encoding': 'identity',
      ...(body !== null && { 'content-length': String(body.byteLength) }),
    },
    agent: false,
    signal,
    lookup: pinnedLookup(addresses),
    ...(authorities !== undefined && { ca: [...authorities] }),
    ...(isIP(host) === 0 && { servername: host }),
    // End-to-end TLS inside the tunnel: the proxy sees neither request nor response.
    ...(tunnel !== null && { socket: tunnel as Socket }),
  };
  return new Promise((resolve, reject) => {
    const request: ClientRequest =
      url.protocol === 'https:' ? loadNodeHttps().request(options) : nodeHttp.request(options);
    const fail = (what: string) => request.destroy(new OutboundError('unreachable', what));
    let informational = 0;
    request.on('information', () => {
      informational += 1;
      if (informational > MAX_INFORMATIONAL) fail('The server sends informational responses only.');
    });
    request.once('response', resolve);
    // Node detaches the socket with this event: afterwards neither an error nor an abort reaches it.
    request.once('upgrade', (message: IncomingMessage, socket: Duplex) => {
      socket.destroy();
      reject(new OutboundError('unreachable', `The server switched protocols (${message.statusCode}).`));
    });
    request.once('error', reject);
    // The last event of every request: without a response it is a failure.
    request.once('close', () => reject(new OutboundError('unreachable', 'The connection was closed.')));
    request.end(body ?? undefined);
  });
}

/** Resolves to the allowed addresses, without another lookup of the name. */
function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const pinned = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => {
    const [first] = pinned;
    if (options.all === true) callback(null, pinned);
    else callback(null, first?.address ?? '', first?.family ?? 4);
  };
}

function checkHead(message: IncomingMessage, status: number, headers: Headers, limit: number): void {
  const encoding = headers.get('content-encoding');
  const issue =
    status < 200 || status > 599
      ? new OutboundError('unreachable', 'The response has no usable status.')
      : encoding !== null && encoding.toLowerCase() !== 'identity'
        ? new OutboundError('encoding', 'The response has a content encoding that was not requested.')
        : Number(headers.get('content-length') ?? 0) > limit
          ? new OutboundError('size', `The response is longer than ${limit} bytes.`)
          : null;
  if (issue === null) return;
  message.destroy();
  throw issue;
}

/** The response body, cut off with an error at the size limit. */
function boundedBody(message: IncomingMessage, { limit, signal }: PinnedRequest): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = message[Symbol.asyncIterator]();
  let size = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await beforeAbort(chunks.next(), signal);
        if (done === true) return controller.close();
        size += value.byteLength;
        if (size > limit) throw new OutboundError('size', `The response is longer than ${limit} bytes.`);
        controller.enqueue(value);
      } catch (error) {
        message.destroy();
        controller.error(toOutboundError(error, signal));
      }
    },
    cancel() {
      message.destroy();
    },
  });
}

/** Converts a socket error to an `OutboundError`. The reason of the caller's own abort is preserved. */
export function toOutboundError(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof OutboundError) return error;
  if (!signal.aborted) {
    return isWithoutEgress(error)
      ? new OutboundError('egress', 'This server has no way out to the network.', error)
      : new OutboundError('unreachable', 'The server could not be reached.', error);
  }
  const isTimeout = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError';
  return isTimeout
    ? new OutboundError('timeout', 'The server did not respond in time.', error)
    : signal.reason;
}

/** Codes of a network without egress: no responding name server, or no route. */
const NO_EGRESS: ReadonlySet<string> = new Set(['EAI_AGAIN', 'ENETUNREACH', 'ENETDOWN']);

/** Whether this side has no network. If several addresses were tried, all must have failed so. */
function isWithoutEgress(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isWithoutEgress);
  return error instanceof Error && 'code' in error && NO_EGRESS.has(String(error.code));
}
