/** Receives the body of a request within its limit: buffered until complete, or streamed to an upload. */
import type { IncomingMessage } from 'node:http';
import { SHORT_BODY } from '../limits.ts';
import { BufferedBytes } from '../messages/buffered-bytes.ts';
import { type GatewayError, invalidRequest } from '../messages/gateway-error.ts';
import type { BodyScanner, ScannedBody } from '../messages/scanned-message.ts';
import type { StreamedBody } from './streamed-body.ts';

/** What a body reports. Nothing is reported once the client has disappeared. */
export type BodyEvent =
  | { readonly kind: 'whole'; readonly bytes: Buffer; readonly scanned: ScannedBody }
  /** More of a long body has arrived, and not all of it. @param scanned what is known of it; `null`: it cannot be streamed yet */
  | { readonly kind: 'long'; readonly scanned: ScannedBody | null }
  /** Receiving has stopped: the body is too long, or the scanner refuses it. */
  | { readonly kind: 'failed'; readonly error: unknown };

interface RequestBodyOptions {
  /** Bytes. */
  readonly limit: number;
  readonly scanner: BodyScanner;
  /** Whether it can be sent before it is complete, by what is known of it. */
  readonly mayStream: (scanned: ScannedBody) => boolean;
  readonly report: (event: BodyEvent) => void;
}

export class RequestBody {
  readonly #incoming: IncomingMessage;
  readonly #options: RequestBodyOptions;
  /** Its `Content-Length`; `null` without one. */
  readonly declared: number | null;
  readonly #buffered = new BufferedBytes();
  #upload: StreamedBody | null = null;
  #length = 0;

  constructor(incoming: IncomingMessage, options: RequestBodyOptions) {
    const length = incoming.headers['content-length'];
    this.declared = length === undefined ? null : Number(length);
    this.#incoming = incoming;
    this.#options = options;
  }

  /** Bytes that have arrived. */
  get length(): number {
    return this.#length;
  }

  /** The chunks that have arrived, as long as there is no upload. */
  get buffered(): Buffer {
    return this.#buffered.bytes;
  }

  receive(): void {
    const { limit } = this.#options;
    if ((this.declared ?? 0) > limit) this.#fail(tooLong(limit));
    else this.#incoming.on('data', this.#take).on('end', this.#finish);
  }

  /** Streams the rest to an upload, and frees the buffered chunks. */
  divert(upload: StreamedBody): void {
    this.#upload = upload;
    this.#buffered.drop(this.#buffered.length);
  }

  pause(): void {
    this.#incoming.pause();
  }

  resume(): void {
    this.#incoming.resume();
  }

  /** Stops receiving. */
  stop(): void {
    if (this.#incoming.readableEnded) return;
    this.#incoming.off('data', this.#take).off('end', this.#finish).pause();
  }

  readonly #take = (chunk: Buffer): void => {
    const { limit, scanner, mayStream, report } = this.#options;
    this.#length += chunk.length;
    try {
      if (this.#length > limit) throw tooLong(limit);
      scanner.push(chunk);
    } catch (error) {
      this.stop();
      this.#fail(error);
      return;
    }
    if (this.#upload !== null) {
      this.#upload.take(chunk, scanner.peek());
      return;
    }
    this.#buffered.add(chunk);
    if (this.#length <= SHORT_BODY || this.#length === this.declared) return;
    const known = scanner.peek();
    report({ kind: 'long', scanned: known !== null && mayStream(known) ? known : null });
  };

  readonly #finish = (): void => {
    let scanned: ScannedBody;
    try {
      scanned = this.#options.scanner.end();
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#upload !== null) {
      this.#upload.end(scanned);
      return;
    }
    const { bytes } = this.#buffered;
    this.#buffered.drop(bytes.length);
    this.#options.report({ kind: 'whole', bytes, scanned });
  };

  #fail(error: unknown): void {
    this.#options.report({ kind: 'failed', error });
  }
}

function tooLong(limit: number): GatewayError {
  return invalidRequest(413, `The body must not exceed ${limit} bytes.`);
}
