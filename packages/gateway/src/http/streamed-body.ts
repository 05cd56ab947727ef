/** A long request body on its way to the backend while it arrives: no faster than the backend reads, and never complete before all of it was checked. */

import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { MAX_RETAINED_BODY, SHORT_BODY } from '../limits.ts';
import { BufferedBytes } from '../messages/buffered-bytes.ts';
import { invalidRequest } from '../messages/gateway-error.ts';
import type { ScannedBody } from '../messages/scanned-message.ts';
import type { MessageHandles } from '../sessions/message-handles.ts';

/** What an upload reports. */
export type UploadEvent =
  /** All of it has arrived: `finish` or `cancel` has to follow. */
  | { readonly kind: 'arrived'; readonly scanned: ScannedBody }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface StreamedBodyOptions {
  /** The paused body to receive. */
  readonly source: { pause(): unknown; resume(): unknown; isPaused(): boolean };
  /** The chunks that have arrived. */
  readonly buffered: Buffer;
  /** The declared length, before sealed identifiers are opened; `null`: chunked transfer. */
  readonly declared: number | null;
  /** The scan so far: the body is inside a value that is irrelevant to decisions. */
  readonly scanned: ScannedBody;
  /** Opens sealed identifiers in parts of the body. */
  readonly identifiers: Pick<MessageHandles, 'open'>;
  /** Seconds in which 64 KiB of it, or its end, have to arrive. */
  readonly idle: number;
  readonly report: (event: UploadEvent) => void;
}

class UploadCancelled extends Error {
  override readonly name: string = 'UploadCancelled';
}

/**
 * Bytes pass while the scanner is inside a value that is irrelevant to decisions, which is never the end of a message. What follows
 * it is buffered until the next one, or until the whole body has been checked: the backend never gets all of a refused body.
 */
export class StreamedBody {
  readonly #options: StreamedBodyOptions;
  /** Bytes sent to the backend; `null`: chunked transfer. */
  readonly length: number | null;
  readonly #timer: NodeJS.Timeout;
  /** The scan when bytes were last forwarded. */
  #known: ScannedBody | null = null;
  readonly #buffered = new BufferedBytes();
  /** Offset of the buffered bytes. */
  #from = 0;
  #queue: Buffer[] = [];
  #readable: Readable | null = null;
  #isWanted = false;
  #isComplete = false;
  /** The bytes sent so far, for a retry; `null`: too many to retain. */
  #sent: BufferedBytes | null = new BufferedBytes();
  /** Bytes since the time limit began. */
  #arrived = 0;
  #hash: Hash | null = null;
  #argumentsHash: string | null = null;
  #isCancelled = false;

  /** @throws MessageError for handles that do not open */
  constructor(options: StreamedBodyOptions) {
    const { buffered, declared, scanned, idle } = options;
    this.#options = options;
    this.#buffered.add(buffered);
    const opened = this.#open(scanned, false);
    this.length = declared === null ? null : declared + opened.length - buffered.length;
    this.#pass(opened);
    this.#timer = setTimeout(this.#onIdle, idle * 1000);
  }

  /** Whether the backend may get all of it, or has got it. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Whether a retry from the beginning is possible. */
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
      this.#sent = new BufferedBytes();
    }
    this.#isWanted = false;
    this.#readable = new Readable({
      highWaterMark: SHORT_BODY,
      read: () => {
        this.#isWanted = true;
        this.#drain();
      },
    });
    if (this.#isCancelled) this.#readable.destroy(new UploadCancelled());
    return this.#readable;
  }

  /** A response has arrived: there will be no retry. */
  keepNothing(): void {
    this.#sent = null;
  }

  /** @param scanned what is known of the body; `null` as in `BodyScanner` */
  take(chunk: Buffer, scanned: ScannedBody | null): void {
    this.#arrived += chunk.length;
    // A client that trickles bytes would occupy its slot for ever.
    if (this.#arrived >= SHORT_BODY) this.#expectMore();
    this.#buffered.add(chunk);
    if (scanned === null && this.#buffered.length > MAX_RETAINED_BODY)
      this.#fail(
        invalidRequest(
          413,
          `White space between the members of a message must not exceed ${MAX_RETAINED_BODY} bytes.`,
        ),
      );
    if (scanned === null || (scanned !== this.#known && this.#buffered.length <= SHORT_BODY)) return;
    try {
      this.#pass(this.#open(scanned, this.length !== null));
    } catch (error) {
      this.#fail(error);
    }
  }

  end(scanned: ScannedBody): void {
    clearTimeout(this.#timer);
    this.#options.report({ kind: 'arrived', scanned });
  }

  /**
   * Sends the rest.
   * @param scanned the whole body, which has been checked
   * @throws MessageError for handles that do not open
   */
  finish(scanned: ScannedBody): void {
    const rest = this.#open(scanned, this.length !== null);
    this.#argumentsHash = this.#hash?.digest('base64url') ?? null;
    this.#isComplete = true;
    this.#pass(rest);
  }

  /** Stops receiving. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#buffered.drop(this.#buffered.length);
    this.#queue = [];
    this.#sent = null;
    this.#readable = null;
  }

  /** Stops, and aborts the incomplete request at the backend. */
  cancel(): void {
    this.#isCancelled = true;
    this.#readable?.destroy(new UploadCancelled());
    this.stop();
  }

  /** The buffered bytes, as the backend sees them. */
  #open(scanned: ScannedBody, keepsLength: boolean): Buffer {
    const { bytes } = this.#buffered;
    const opened =
      scanned === this.#known
        ? bytes
        : this.#options.identifiers.open(bytes, scanned, { from: this.#from, keepsLength });
    this.#hashArguments(bytes, scanned);
    this.#known = scanned;
    this.#buffered.drop(bytes.length);
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
    else this.#options.source.pause();
  }

  #resume(): void {
    if (this.#options.source.isPaused()) this.#expectMore();
    this.#options.source.resume();
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
    if (this.#options.source.isPaused()) this.#timer.refresh();
    else this.#fail(invalidRequest(408, 'The rest of the body did not arrive in time.'));
  };

  #fail(error: unknown): void {
    this.#options.report({ kind: 'failed', error });
  }
}
