/** One request over a socket to an address that was judged: pinned, without redirects, bounded in time and bytes. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { loadNodeHttps, nodeHttp } from '../node-http.ts';
import { OutboundError } from './outbound-error.ts';

/** What is sent, and where to. */
export interface PinnedRequest {
  readonly url: URL;
  /** The judged addresses: the connection goes to one of these and to no other. */
  readonly addresses: readonly string[];
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | null;
  readonly signal: AbortSignal;
  /** Most bytes of the body. */
  readonly limit: number;
  /** Certificate authorities in PEM, instead of the system's. */
  readonly authorities: readonly string[] | undefined;
}

/** Statuses whose answers have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** Sends, and answers with a `Response` whose body is cut off by an error at the limits. */
export async function sendPinnedRequest(outbound: PinnedRequest): Promise<Response> {
  const message = await send(outbound);
  const status = message.statusCode ?? 0;
  const headers = new Headers();
  for (let index = 0; index + 1 < message.rawHeaders.length; index += 2) {
    headers.append(message.rawHeaders[index] ?? '', message.rawHeaders[index + 1] ?? '');
  }
  checkHead(message, status, headers, outbound.limit);
  if (BODILESS.has(status) || outbound.method === 'HEAD') {
    message.destroy();
    return new Response(null, { status, headers });
  }
  return new Response(bounded(message, outbound), { status, headers });
}

function send({
  url,
  addresses,
  method,
  headers,
  body,
  signal,
  authorities,
}: PinnedRequest): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const options: RequestOptions = {
    method,
    host,
    ...(url.port !== '' && { port: url.port }),
    path: `${url.pathname}${url.search}`,
    headers: {
      ...Object.fromEntries(headers),
      host: url.host,
      // An encoded answer could be small on the way and huge when it is read.
      'accept-encoding': 'identity',
      ...(body !== null && { 'content-length': String(body.byteLength) }),
    },
    agent: false,
    signal,
    lookup: pinnedLookup(addresses),
    ...(authorities !== undefined && { ca: [...authorities] }),
    ...(isIP(host) === 0 && { servername: host }),
  };
  return new Promise((resolve, reject) => {
    const request: ClientRequest =
      url.protocol === 'https:' ? loadNodeHttps().request(options) : nodeHttp.request(options);
    request.once('response', resolve);
    request.once('error', reject);
    request.end(body ?? undefined);
  });
}

/** Answers with what was judged, whatever the name resolves to by now. */
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
      ? new OutboundError('unreachable', 'The answer has no usable status.')
      : encoding !== null && encoding.toLowerCase() !== 'identity'
        ? new OutboundError('encoding', 'The answer is encoded, which was not asked for.')
        : Number(headers.get('content-length') ?? 0) > limit
          ? new OutboundError('size', `The answer is longer than ${limit} bytes.`)
          : null;
  if (issue === null) return;
  message.destroy();
  throw issue;
}

/** The body, as far as it may go. */
function bounded(message: IncomingMessage, { limit, signal }: PinnedRequest): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = message[Symbol.asyncIterator]();
  let size = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done === true) return controller.close();
        size += value.byteLength;
        if (size > limit) throw new OutboundError('size', `The answer is longer than ${limit} bytes.`);
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

/** What a failure of the socket means. The caller's own abort stays what it is. */
export function toOutboundError(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof OutboundError) return error;
  if (!signal.aborted) return new OutboundError('unreachable', 'The server could not be reached.', error);
  const late = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError';
  return late ? new OutboundError('timeout', 'The server did not answer in time.', error) : signal.reason;
}
