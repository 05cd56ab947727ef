/** Receives the body of a request within its limit: held until it is whole, or given to a sink while it arrives. */

import type { IncomingMessage } from 'node:http';
import { SHORT_BODY } from '../limits/bounds.ts';
import { HeldBytes } from '../messages/held-bytes.ts';
import type { BodyScanner } from '../messages/scanned-message.ts';
import { type GatewayError, invalidRequest } from './error-response.ts';

/** Learns how far a body is. Nothing is called if the client disappears. */
export interface BodyListener {
  whole(body: Buffer): void;
  /** More of a long body has arrived, and not all of it. An error that it throws ends the body. */
  long(): void;
  /** It is not received any further: it is too long, or the scanner refuses it. */
  fail(error: unknown): void;
}

/** Gets the chunks of a body, which have been scanned. */
export interface BodySink {
  take(chunk: Buffer): void;
  end(): void;
}

export class RequestBody {
  readonly #incoming: IncomingMessage;
  readonly #limit: number;
  readonly #scanner: Pick<BodyScanner, 'push'>;
  readonly #listener: BodyListener;
  /** Its length by the header; `null`: the client does not say. */
  readonly declared: number | null;
  readonly #held = new HeldBytes();
  #sink: BodySink | null = null;
  #length = 0;

  constructor(
    incoming: IncomingMessage,
    limit: number,
    scanner: Pick<BodyScanner, 'push'>,
    listener: BodyListener,
  ) {
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

  receive(): void {
    if ((this.declared ?? 0) > this.#limit) this.#listener.fail(tooLong(this.#limit));
    else this.#incoming.on('data', this.#take).on('end', this.#finish);
  }

  /** The rest goes to a sink. @returns what has been held */
  divert(sink: BodySink): Buffer {
    this.#sink = sink;
    return this.#takeHeld();
  }

  pause(): void {
    this.#incoming.pause();
  }

  resume(): void {
    this.#incoming.resume();
  }

  get isPaused(): boolean {
    return this.#incoming.isPaused();
  }

  /** Receives nothing more. */
  stop(): void {
    this.#incoming.off('data', this.#take).off('end', this.#finish).pause();
  }

  readonly #take = (chunk: Buffer): void => {
    this.#length += chunk.length;
    if (this.#length > this.#limit) {
      this.#fail(tooLong(this.#limit));
      return;
    }
    try {
      this.#scanner.push(chunk);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#sink !== null) {
      this.#sink.take(chunk);
      return;
    }
    this.#held.add(chunk);
    if (this.#length > SHORT_BODY && this.#length !== this.declared) this.#announce();
  };

  #announce(): void {
    try {
      this.#listener.long();
    } catch (error) {
      this.#fail(error);
    }
  }

  readonly #finish = (): void => {
    if (this.#sink !== null) this.#sink.end();
    else this.#listener.whole(this.#takeHeld());
  };

  #takeHeld(): Buffer {
    const { bytes } = this.#held;
    this.#held.drop(bytes.length);
    return bytes;
  }

  #fail(error: unknown): void {
    this.stop();
    this.#listener.fail(error);
  }
}

function tooLong(limit: number): GatewayError {
  return invalidRequest(413, `The body must not exceed ${limit} bytes.`);
}
