/** A request as node:http has it, in the words of a room, without a `Request` being made. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { HttpRequest } from '../http-request.ts';

/** @param url what it asks for, judged already */
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
    // Whoever stops reading leaves the connection as it is: an answer has to go out on it.
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
    // What objects inherit is no field; a list is made of `Set-Cookie` alone, which no request has.
    return typeof value === 'string' ? value : null;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }
}

const decoder = new TextDecoder();

function readText(incoming: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    if (incoming.readableDidRead) throw new TypeError('The body has been read already.');
    if (incoming.destroyed) throw gone();
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () =>
      resolve(decoder.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))),
    );
    incoming.on('error', reject);
    // Last of all, and of every request: an error takes 3 µs to make, so none is made for a body that has come to its end.
    incoming.on('close', () => {
      if (!incoming.readableEnded) reject(gone());
    });
  });
}

/** As the platform says it when it happens while somebody reads. */
function gone(): Error {
  return Object.assign(new Error('The sender went before the end of the body.'), { code: 'ECONNRESET' });
}
