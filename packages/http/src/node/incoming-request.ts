/** Presents a node:http request as `HttpRequest`, without creating a standard `Request`. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { HttpRequest } from '../http-request.ts';

/** @param url its absolute URL, already validated */
export function createIncomingRequest(incoming: IncomingMessage, url: string): HttpRequest {
  return new IncomingRequest(incoming, url);
}

class IncomingRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HttpRequest['headers'];
  readonly #incoming: IncomingMessage;

  constructor(incoming: IncomingMessage, url: string) {
    this.method = incoming.method ?? '';
    this.url = url;
    this.headers = new IncomingHeaders(incoming.headers);
    this.#incoming = incoming;
  }

  get body(): AsyncIterable<Uint8Array> {
    // Stopping early must leave the connection open: the response still has to be sent.
    return this.#incoming.iterator({ destroyOnReturn: false });
  }

  text(): Promise<string> {
    return readText(this.#incoming);
  }
}

class IncomingHeaders {
  readonly #fields: IncomingHttpHeaders;

  constructor(fields: IncomingHttpHeaders) {
    this.#fields = fields;
  }

  get(name: string): string | null {
    const value = this.#fields[name.toLowerCase()];
    // Inherited properties are not headers; only `Set-Cookie` is a list, which requests do not contain.
    return typeof value === 'string' ? value : null;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }
}

const decoder = new TextDecoder();

function readText(incoming: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    if (incoming.readableDidRead) throw new TypeError('The body has already been read.');
    if (incoming.destroyed) throw connectionReset();
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () =>
      resolve(decoder.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))),
    );
    incoming.on('error', reject);
    // Emitted last, for every request: creating an error takes 3 µs, so a complete body creates none.
    incoming.on('close', () => {
      if (!incoming.readableEnded) reject(connectionReset());
    });
  });
}

/** The error that the platform throws when the connection breaks during a read. */
function connectionReset(): Error {
  return Object.assign(new Error('The connection closed before the end of the body.'), {
    code: 'ECONNRESET',
  });
}
