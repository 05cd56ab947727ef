/** A request of node:http as every framework on it hands it on: its facts, its body, its token taken away. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OAuthError } from '@portcullis/protocol/protected-resource';
import { bodyTooLarge, checkPlainEncoding, concatChunks, type ReadBody } from '../guard/required-scopes.ts';
import type { RequestInfo } from '../guard.ts';
import type { GuardResponse } from '../guard-response.ts';

/** The facts of a request, whose token stays where it is. */
export function nodeRequestInfo(
  request: IncomingMessage,
  beyond: AdapterInfo = NO_ADAPTER_INFO,
): RequestInfo {
  return new NodeRequestInfo(request, { authorization: request.headers.authorization }, beyond);
}

/**
 * The facts of a request, and the token taken out of it: it was for the guard, and whatever the application asks
 * elsewhere, it asks with a token of its own.
 */
export function takeNodeRequest(
  request: IncomingMessage,
  beyond: AdapterInfo = NO_ADAPTER_INFO,
): RequestInfo {
  return new NodeRequestInfo(request, takeTokenFields(request), beyond);
}

/** What a request presents. */
type TokenFields = Pick<RequestInfo, 'authorization' | 'dpop'>;

/** Of each request there are a few at hand; the rest is read from it when it is asked for, which is seldom. */
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

  /** HTTP/2 has a pseudo-header for it. */
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

  get clientCertificate(): string | undefined {
    return this.request.headers['client-cert']?.toString();
  }

  get body(): ReadBody {
    return this.beyond.body ?? nodeBodyReader(this.request, this.beyond.parsed);
  }
}

const NO_ADAPTER_INFO: AdapterInfo = {};

/** What a framework knows beyond the request: the target as it came, and what the route or an earlier guard said. */
export type AdapterInfo = Pick<RequestInfo, 'scopes' | 'principal' | 'body'> & {
  readonly url?: string | undefined;
  /** The body, where the framework has parsed it already and does not keep it at the request itself. */
  readonly parsed?: unknown;
};

/** Sends an answer. What is left of the request's body is not waited for. */
export function sendGuardResponse(response: ServerResponse, { status, headers, body }: GuardResponse): void {
  if (status === 413) response.shouldKeepAlive = false;
  response.writeHead(status, headers).end(body ?? undefined);
}

/** Lets the page that asked read the application's answer. */
export function addHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
}

const NO_TOKEN_FIELDS: TokenFields = { authorization: undefined };

/**
 * Node keeps the first of several fields, but more than one is an error. Fields are emptied and not cut out: the request
 * counts on their number, and its object of headers on its shape.
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

/** What a framework's own reader left behind, if one ran before the guard. */
type WithBody = IncomingMessage & { readonly body?: unknown };

function nodeBodyReader(request: WithBody, parsed: unknown): ReadBody {
  return async (limit) => {
    const known = parsed ?? request.body;
    const isUnread = !hasNoBody(request) && !request.readableEnded;
    // A parser of another type leaves an object with nothing in it, and the body to whoever reads it next.
    if (known !== undefined && !isUnread) return known;
    if (hasNoBody(request)) return '';
    if (!isUnread) throw new Error('something read the body before the guard, and kept nothing of it');
    checkPlainEncoding(request.headers['content-type'], request.headers['content-encoding']);
    return readAndRestore(request, limit);
  };
}

/** In HTTP/2 frames tell where a request ends, not fields: a body need not be announced. */
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

/** Whether all of it has arrived. */
function isComplete({ complete, stream }: Framed): boolean {
  return complete || (stream?.endAfterHeaders !== undefined && stream.readableEnded);
}

/** Reads a body to its end and puts it back into the stream, before that end has been told to anybody. */
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
      refuse(new OAuthError('invalid_request', 'The body broke off.', { reason: 'body broke off' }));
    const take = (): void => {
      // Nothing is read from an empty stream: at its end that would announce the end.
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
      const body = concatChunks(chunks, length);
      if (length > 0) request.unshift(body);
      resolve(body);
    };
    request.on('readable', take).on('error', fail).on('close', fail);
  });
}
