/** A long request body on its way to the backend while it arrives: no faster than the backend reads, and never complete before all of it was checked. */

import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { MAX_RETAINED_BODY, SHORT_BODY } from '../limits/bounds.ts';
import { HeldBytes } from '../messages/held-bytes.ts';
import type { BodyScanner, ScannedBody } from '../messages/scanned-message.ts';
import { invalidRequest } from './error-response.ts';
import type { BodySink, RequestBody } from './request-body.ts';

export interface StreamedBodyOptions {
  /** Held so far, and paused. */
  readonly body: RequestBody;
  readonly scanner: Pick<BodyScanner, 'peek'>;
  /** What is known: the body is inside a value that decides nothing. */
  readonly scanned: ScannedBody;
  /** Whether the backend is told the length that the client tells. */
  readonly hasLength: boolean;
  /**
   * Bytes of the body as the backend sees them, with opened handles.
   * @param from offset of the bytes
   * @param keepsLength the result has to have the length of the bytes
   * @throws MessageError
   */
  readonly open: (bytes: Buffer, scanned: ScannedBody, from: number, keepsLength: boolean) => Buffer;
  /** Seconds in which 64 KiB of it, or its end, have to arrive. */
  readonly idle: number;
  /** All of it has arrived: `finish` or `cancel` has to follow. */
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
}

class Cancelled extends Error {
  override readonly name: string = 'Cancelled';
}

/**
 * Bytes pass as far as the scanner is inside a value that decides nothing, which is never the end of a message. What follows that
 * value is held until another one, or until the whole body has been checked: a body that is refused is not complete at the backend.
 */
export class StreamedBody implements BodySink {
  readonly #options: StreamedBodyOptions;
  /** Bytes that the backend gets; `null`: it gets chunks. */
  readonly length: number | null;
  readonly #timer: NodeJS.Timeout;
  /** What was known when bytes passed last. */
  #known: ScannedBody | null = null;
  readonly #held = new HeldBytes();
  /** Offset of what is held. */
  #from = 0;
  #queue: Buffer[] = [];
  #readable: Readable | null = null;
  #isWanted = false;
  #isComplete = false;
  /** What the backend has got, as long as it can be sent again; `null`: it is too much to be kept. */
  #sent: HeldBytes | null = new HeldBytes();
  #hasArrived = false;
  /** Bytes since the time limit began. */
  #arrived = 0;
  #hash: Hash | null = null;
  #argumentsHash: string | null = null;
  #isCancelled = false;

  /** @throws MessageError for handles that do not open */
  constructor(options: StreamedBodyOptions) {
    const { body, scanned, hasLength, idle } = options;
    this.#options = options;
    const held = body.divert(this);
    this.#held.add(held);
    const opened = this.#open(scanned, false);
    this.length = hasLength && body.declared !== null ? body.declared + opened.length - held.length : null;
    this.#pass(opened);
    this.#timer = setTimeout(this.#onIdle, idle * 1000);
  }

  /** Whether it can be sent again from its beginning. */
  get canReopen(): boolean {
    return this.#sent !== null;
  }

  /** SHA-256 of the arguments, base64url; `null` before the end, or without arguments. */
  get argumentsHash(): string | null {
    return this.#argumentsHash;
  }

  /** For a request to the backend; for another one only if it can be reopened. */
  open(): Readable {
    if (this.#sent !== null && this.#sent.length > 0) {
      this.#queue.unshift(this.#sent.bytes);
      this.#sent = new HeldBytes();
    }
    this.#isWanted = false;
    this.#readable = new Readable({
      highWaterMark: SHORT_BODY,
      read: () => {
        this.#isWanted = true;
        this.#drain();
      },
    });
    if (this.#isCancelled) this.#readable.destroy(new Cancelled());
    return this.#readable;
  }

  /** There is a response: it is not sent again. */
  keepNothing(): void {
    this.#sent = null;
  }

  take(chunk: Buffer): void {
    this.#arrived += chunk.length;
    // A byte now and then would keep its place for ever.
    if (this.#arrived >= SHORT_BODY) this.#expectMore();
    this.#held.add(chunk);
    const scanned = this.#options.scanner.peek();
    if (scanned === null && this.#held.length > MAX_RETAINED_BODY)
      this.#options.fail(
        invalidRequest(
          413,
          `White space between the members of a message must not exceed ${MAX_RETAINED_BODY} bytes.`,
        ),
      );
    if (scanned === null || (scanned !== this.#known && this.#held.length <= SHORT_BODY)) return;
    try {
      this.#pass(this.#open(scanned, this.length !== null));
    } catch (error) {
      this.#options.fail(error);
    }
  }

  end(): void {
    this.#hasArrived = true;
    clearTimeout(this.#timer);
    this.#options.end();
  }

  /**
   * Lets the rest pass.
   * @param scanned the whole body, which has been checked
   * @throws MessageError for handles that do not open
   */
  finish(scanned: ScannedBody): void {
    const rest = this.#open(scanned, this.length !== null);
    this.#argumentsHash = this.#hash?.digest('base64url') ?? null;
    this.#isComplete = true;
    this.#pass(rest);
  }

  /** Receives nothing more. */
  stop(): void {
    clearTimeout(this.#timer);
    if (!this.#hasArrived) this.#options.body.stop();
    this.#held.drop(this.#held.length);
    this.#queue = [];
    this.#sent = null;
    this.#readable = null;
  }

  /** Stops, and ends the request at the backend, which is not complete there. */
  cancel(): void {
    this.#isCancelled = true;
    this.#readable?.destroy(new Cancelled());
    this.stop();
  }

  /** What is held, as the backend sees it. */
  #open(scanned: ScannedBody, keepsLength: boolean): Buffer {
    const { bytes } = this.#held;
    const opened =
      scanned === this.#known ? bytes : this.#options.open(bytes, scanned, this.#from, keepsLength);
    this.#hashArguments(bytes, scanned);
    this.#known = scanned;
    this.#held.drop(bytes.length);
    this.#from += bytes.length;
    return opened;
  }

  #pass(bytes: Buffer): void {
    this.#queue.push(bytes);
    this.#drain();
  }

  #hashArguments(bytes: Buffer, { messages: [message] }: ScannedBody): void {
    const range = message?.arguments ?? null;
    if (range === null) return;
    const end = range.end === -1 ? bytes.length : range.end - this.#from;
    this.#hash ??= createHash('sha256');
    if (end > 0) this.#hash.update(bytes.subarray(Math.max(0, range.start - this.#from), end));
  }

  /** The client is read only as fast as the backend reads. */
  #drain(): void {
    const readable = this.#readable;
    if (readable === null) return;
    while (this.#isWanted && this.#queue.length > 0) this.#isWanted = readable.push(this.#next());
    if (this.#isComplete && this.#queue.length === 0) readable.push(null);
    else if (this.#isWanted) this.#resume();
    else this.#options.body.pause();
  }

  #resume(): void {
    if (this.#options.body.isPaused) this.#expectMore();
    this.#options.body.resume();
  }

  #expectMore(): void {
    this.#arrived = 0;
    this.#timer.refresh();
  }

  #next(): Buffer | undefined {
    const bytes = this.#queue.shift();
    if (bytes === undefined || this.#sent === null) return bytes;
    this.#sent.add(bytes);
    if (this.#sent.length > MAX_RETAINED_BODY) this.#sent = null;
    return bytes;
  }

  readonly #onIdle = (): void => {
    // The backend has time limits of its own.
    if (this.#options.body.isPaused) this.#timer.refresh();
    else this.#options.fail(invalidRequest(408, 'The rest of the body did not arrive in time.'));
  };
}
