/** Receives the body of a request within its limit: buffered until complete, or streamed to a sink. */
import type { IncomingMessage } from 'node:http';
import { SHORT_BODY } from '../limits.ts';
import { BufferedBytes } from '../messages/buffered-bytes.ts';
import type { BodyScanner, ScannedBody } from '../messages/scanned-message.ts';
import { type GatewayError, invalidRequest } from './error-response.ts';

/** Receives the progress of a body. Nothing is called if the client disappears. */
export interface BodyListener {
  whole(bytes: Buffer, scanned: ScannedBody): void;
  /** More of a long body has arrived, and not all of it. */
  long(): void;
  /** Receiving has stopped: the body is too long, or the scanner refuses it. */
  fail(error: unknown): void;
}

/** Receives the scanned chunks of a body. */
export interface BodySink {
  take(chunk: Buffer): void;
  end(scanned: ScannedBody): void;
}

export class RequestBody {
  readonly #incoming: IncomingMessage;
  readonly #limit: number;
  readonly #scanner: BodyScanner;
  readonly #listener: BodyListener;
  /** Its `Content-Length`; `null` without one. */
  readonly declared: number | null;
  readonly #buffered = new BufferedBytes();
  #sink: BodySink | null = null;
  #length = 0;

  constructor(incoming: IncomingMessage, limit: number, scanner: BodyScanner, listener: BodyListener) {
    const length = incoming.headers['content-length'];
    this.declared = length === undefined ? null : Number(length);
    this.#incoming = incoming;
    this.#limit = limit;
    this.#scanner = scanner;
    this.#listener = listener;
  }

  /** Bytes that have arrived. */
  get length(): number {
    return this.#length;
  }

  /** The chunks that have arrived, as long as there is no sink. */
  get buffered(): Buffer {
    return this.#buffered.bytes;
  }

  receive(): void {
    if ((this.declared ?? 0) > this.#limit) this.#listener.fail(tooLong(this.#limit));
    else this.#incoming.on('data', this.#take).on('end', this.#finish);
  }

  /** The scan before the end of the body. @see BodyScanner */
  peek(): ScannedBody | null {
    return this.#scanner.peek();
  }

  /** Streams the rest to a sink, and frees the buffered chunks. */
  divert(sink: BodySink): void {
    this.#sink = sink;
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
    this.#length += chunk.length;
    try {
      if (this.#length > this.#limit) throw tooLong(this.#limit);
      this.#scanner.push(chunk);
    } catch (error) {
      this.stop();
      this.#listener.fail(error);
      return;
    }
    if (this.#sink !== null) {
      this.#sink.take(chunk);
      return;
    }
    this.#buffered.add(chunk);
    if (this.#length > SHORT_BODY && this.#length !== this.declared) this.#listener.long();
  };

  readonly #finish = (): void => {
    let scanned: ScannedBody;
    try {
      scanned = this.#scanner.end();
    } catch (error) {
      this.#listener.fail(error);
      return;
    }
    if (this.#sink !== null) {
      this.#sink.end(scanned);
      return;
    }
    const { bytes } = this.#buffered;
    this.#buffered.drop(bytes.length);
    this.#listener.whole(bytes, scanned);
  };
}

function tooLong(limit: number): GatewayError {
  return invalidRequest(413, `The body must not exceed ${limit} bytes.`);
}
