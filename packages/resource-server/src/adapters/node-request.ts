/**
 * Reads requests of node:http for all frameworks that run on it, removes their tokens, and sends the guard's
 * responses.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OAuthError } from '@portcullis/protocol';
import { bodyTooLarge, checkAnnouncedLength, checkPlainEncoding } from '../guard/request-body.ts';
import type { RequestInfo } from '../guard.ts';
import type { GuardResponse } from '../guard-response.ts';
import type { ReadBody } from '../request-info.ts';

/** Reads a request without removing its token. */
export function nodeRequestInfo(
  request: IncomingMessage,
  beyond: AdapterInfo = NO_ADAPTER_INFO,
): RequestInfo {
  return new NodeRequestInfo(request, { authorization: request.headers.authorization }, beyond);
}

/** Reads a request and removes its token: it is meant for the guard, and must not be forwarded by the application. */
export function takeNodeRequest(
  request: IncomingMessage,
  beyond: AdapterInfo = NO_ADAPTER_INFO,
): RequestInfo {
  return new NodeRequestInfo(request, takeTokenFields(request), beyond);
}

/** The headers that contain a token and its proof. */
type TokenFields = Pick<RequestInfo, 'authorization' | 'dpop'>;

/** Reads rarely needed headers lazily. */
class NodeRequestInfo implements RequestInfo {
  readonly method: string;
  readonly url: string;
  readonly authorization: RequestInfo['authorization'];
  readonly dpop: RequestInfo['dpop'];
  readonly scopes: RequestInfo['scopes'];
  readonly principal: RequestInfo['principal'];
  readonly request: IncomingMessage;
  readonly beyond: AdapterInfo;

  constructor(request: IncomingMessage, { authorization, dpop }: TokenFields, beyond: AdapterInfo) {
    this.method = request.method ?? 'GET';
    this.url = beyond.url ?? request.url ?? '/';
    this.authorization = authorization;
    this.dpop = dpop;
    this.scopes = beyond.scopes;
    this.principal = beyond.principal;
    this.request = request;
    this.beyond = beyond;
  }

  get origin(): string | undefined {
    return this.request.headers.origin;
  }

  /** HTTP/2 uses a pseudo-header instead. */
  get host(): string | undefined {
    const { headers } = this.request;
    return headers.host ?? headers[':authority']?.toString();
  }

  get requestedMethod(): string | undefined {
    return this.request.headers['access-control-request-method'];
  }

  get socket(): unknown {
    return this.request.socket;
  }

  /** Express sets `ip`, by its setting `trust proxy`. */
  get address(): string | undefined {
    return (this.request as { readonly ip?: string }).ip ?? this.request.socket?.remoteAddress;
  }

  get clientCertificate(): string | undefined {
    return this.request.headers['client-cert']?.toString();
  }

  get body(): ReadBody {
    return this.beyond.body ?? nodeBodyReader(this.request, this.beyond.parsed);
  }
}

const NO_ADAPTER_INFO: AdapterInfo = {};

/**
 * What a framework knows besides the request: the original target, and what the route or an earlier guard specified.
 */
export type AdapterInfo = Pick<RequestInfo, 'scopes' | 'principal' | 'body'> & {
  readonly url?: string | undefined;
  /** The parsed body, if the framework keeps it elsewhere than on the request. */
  readonly parsed?: unknown;
};

/** Sends a response of the guard, without waiting for the rest of the request's body. */
export function sendGuardResponse(response: ServerResponse, { status, headers, body }: GuardResponse): void {
  if (status === 413) response.shouldKeepAlive = false;
  response.writeHead(status, headers).end(body ?? undefined);
}

/** Adds headers to the application's response. */
export function addHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
}

const NO_TOKEN_FIELDS: TokenFields = { authorization: undefined };

/**
 * Node keeps the first of repeated headers, but repetition is an error. Headers are emptied rather than deleted: Node
 * relies on their number, and V8 on the shape of the headers object.
 */
function takeTokenFields({ headers, rawHeaders }: IncomingMessage): TokenFields {
  const field = headers.authorization;
  if (field === undefined) return NO_TOKEN_FIELDS;
  const dpop = headers['dpop']?.toString();
  headers.authorization = '';
  if (dpop !== undefined) headers['dpop'] = '';
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    const isAuthorization = isNamed(name, 'authorization');
    if (isAuthorization) count += 1;
    if (isAuthorization || isNamed(name, 'dpop')) rawHeaders[at + 1] = '';
  }
  return { authorization: count > 1 ? Array<string>(count).fill(field) : field, dpop };
}

function isNamed(field: string | undefined, name: string): boolean {
  return field?.length === name.length && field.toLowerCase() === name;
}

/** The body that a framework's parser left behind, if it ran before the guard. */
type WithBody = IncomingMessage & { readonly body?: unknown };

function nodeBodyReader(request: WithBody, parsed: unknown): ReadBody {
  return async (limit) => {
    const known = parsed ?? request.body;
    const isUnread = !hasNoBody(request) && !request.readableEnded;
    // A parser for another content type leaves an empty object, and the body unread.
    if (known !== undefined && !isUnread) return known;
    if (hasNoBody(request)) return '';
    if (!isUnread) throw new Error('the body was consumed before the guard, and not kept');
    checkAnnouncedLength(request.headers['content-length'], limit);
    checkPlainEncoding(request.headers['content-type'], request.headers['content-encoding']);
    return readAndRestore(request, limit);
  };
}

/** In HTTP/2 frames mark the end of a request, so a body need not be announced by headers. */
type Framed = IncomingMessage & {
  readonly stream?: { readonly endAfterHeaders?: boolean; readonly readableEnded: boolean };
};

function hasNoBody(request: Framed): boolean {
  const { headers, readableLength, readableEnded, stream } = request;
  const isAnnounced =
    stream?.endAfterHeaders === undefined
      ? headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
      : !stream.endAfterHeaders;
  return !isAnnounced || (isComplete(request) && readableLength === 0 && !readableEnded);
}

/** Whether the whole request has arrived. */
function isComplete({ complete, stream }: Framed): boolean {
  return complete || (stream?.endAfterHeaders !== undefined && stream.readableEnded);
}

/** Reads a body completely and puts it back into the stream before its end is signalled. */
function readAndRestore(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let length = 0;
    const stop = (): void => {
      request.off('readable', take).off('error', fail).off('close', fail);
    };
    const refuse = (error: OAuthError): void => {
      stop();
      reject(error);
    };
    const fail = (): void =>
      refuse(
        new OAuthError('invalid_request', 'The body is incomplete.', {
          reason: 'connection closed before the end of the body',
        }),
      );
    const take = (): void => {
      // Reading from an empty stream at its end would signal the end.
      while (request.readableLength > 0 && length <= limit) {
        const chunk: Uint8Array | null = request.read();
        if (chunk === null) break;
        chunks.push(chunk);
        length += chunk.byteLength;
      }
      if (length > limit) refuse(bodyTooLarge(limit));
      else if (isComplete(request)) finish();
    };
    const finish = (): void => {
      stop();
      const body = Buffer.concat(chunks, length);
      if (length > 0) request.unshift(body);
      resolve(body);
    };
    request.on('readable', take).on('error', fail).on('close', fail);
  });
}
