/** Receives the body of a request within its limit: buffered until it is whole, or given to a sink while it arrives. */
import type { IncomingMessage } from 'node:http';
import { SHORT_BODY } from '../limits/bounds.ts';
import { BufferedBytes } from '../messages/buffered-bytes.ts';
import type { BodyScanner, ScannedBody } from '../messages/scanned-message.ts';
import { type GatewayError, invalidRequest } from './error-response.ts';

/** Learns how far a body is. Nothing is called if the client disappears. */
export interface BodyListener {
  whole(bytes: Buffer, scanned: ScannedBody): void;
  /** More of a long body has arrived, and not all of it. */
  long(): void;
  /** It is not received any further: it is too long, or the scanner refuses it. */
  fail(error: unknown): void;
}

/** Gets the chunks of a body, which have been scanned. */
export interface BodySink {
  take(chunk: Buffer): void;
  end(scanned: ScannedBody): void;
}

export class RequestBody {
  readonly #incoming: IncomingMessage;
  readonly #limit: number;
  readonly #scanner: BodyScanner;
  readonly #listener: BodyListener;
  /** Its length by the header; `null`: the client does not say. */
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

  /** What has arrived, as long as there is no sink. */
  get buffered(): Buffer {
    return this.#buffered.bytes;
  }

  receive(): void {
    if ((this.declared ?? 0) > this.#limit) this.#listener.fail(tooLong(this.#limit));
    else this.#incoming.on('data', this.#take).on('end', this.#finish);
  }

  /** What is known before the end. @see BodyScanner */
  peek(): ScannedBody | null {
    return this.#scanner.peek();
  }

  /** The rest goes to a sink, and what was buffered is forgotten. */
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

  /** Receives nothing more. */
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
