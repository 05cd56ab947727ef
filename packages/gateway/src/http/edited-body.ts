/** Edits the JSON-RPC responses in a body: of a JSON document, or of an event stream, event by event. */

import { parseExactly } from '@portcullis/http';
import { EVENT_BEGINNING } from '../limits.ts';
import { mapLater } from '../map-later.ts';
import { BufferedBytes } from '../messages/buffered-bytes.ts';
import {
  BYTE_ORDER_MARK,
  checkResponses,
  createLongWatch,
  type ExpectedResponses,
  mayHoldHandles,
  mayHoldLists,
  mayHoldResponse,
  mayHoldScope,
  mayHoldUpdate,
  startsWithMark,
} from '../messages/check-responses.ts';
import { badGateway } from './error-response.ts';
import { isLineEnd, rewriteIds } from './event-ids.ts';
import { createLongMessage, type LongMessage } from './long-message.ts';

/** Changes the messages of a response. */
export interface BodyEdit {
  /** Changes a parsed message; returns the same one if nothing changes, and `null` if it is left out. */
  readonly apply: (message: unknown) => unknown;
  /** Whether a message that is too long to edit may pass unchanged. @param method found at its beginning, if any */
  readonly mayPassLong: (method: string | null) => boolean;
  /** Whether clients may cache a response, so that its scope matters. */
  readonly mayBeCached: boolean;
}

/** Bytes on their way to a client. */
export interface ByteSink {
  write(bytes: Buffer): void;
  end(): void;
}

/** What is reported of an edited body, in order. */
export type EditedEvent =
  /** The next bytes for the client. @param length bytes of the whole document; `null`: not known */
  | { readonly kind: 'bytes'; readonly bytes: Buffer; readonly length: number | null }
  /** All bytes have been reported. */
  | { readonly kind: 'ended' }
  /** The body cannot be parsed, or must not be forwarded. Nothing follows. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly outcome: 'too_long' | 'error' };

/** An interface, not a callback: the exchange is the listener, so no closure is allocated for each stream. */
export interface EditedBodyListener {
  report(event: EditedEvent): void;
  /** A message is being edited: what follows it would be buffered. */
  pause(): void;
  /** Nothing is being edited any more. */
  resume(): void;
  /** @returns the id of an event that the client sees */
  sealEventId(id: string): string;
  /** The stream announces that the list of tools has changed. */
  toolsChanged(): void;
}

const TOOLS_CHANGED = Buffer.from('notifications/tools/list_changed');

const ENDED: EditedEvent = { kind: 'ended' };

/** A message that has to be edited is longer than the limit. */
class MessageTooLong extends Error {
  override readonly name: string = 'MessageTooLong';
}

interface EditedBodyOptions {
  /** Display name of the server. */
  readonly name: string;
  readonly isStream: boolean;
  /** Bytes of a document or an event. */
  readonly limit: number;
  readonly edit: BodyEdit;
  /** The requests that the body may answer, as far as they are known. */
  readonly expected: () => ExpectedResponses;
  readonly listener: EditedBodyListener;
}

/** An event ends with an empty line, and a line with CR, LF, or both, however they are mixed. @see HTML §9.2.5 */
const EVENT_END = /\n\n|\n\r\n?|\r\r\n?/g;
/** A byte sequence that only these ends contain. */
const EMPTY_LINES = ['\n\n', '\n\r', '\r\r'] as const;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
/** The last bytes of a chunk that may be the first of those that end an event. */
const EVENT_END_BEGUN = 1;

/** No closures: thousands of streams wait with one each. */
export class EditedBody implements ByteSink {
  readonly #options: EditedBodyOptions;
  readonly #buffered = new BufferedBytes();
  /** Settles when the previous message has been written; `null`: none is being edited. */
  #editing: Promise<void> | null = null;
  #hasFailed = false;
  #hasEnded = false;
  #isPaused = false;
  /** The rest of a message that was too long to edit; `null`: there is none. */
  #long: LongMessage | null = null;
  #isFirst = true;
  /** Whether what follows begins a line of the stream. */
  #isLineStart = true;

  constructor(options: EditedBodyOptions) {
    this.#options = options;
  }

  write(chunk: Buffer): void {
    const { isStream, limit } = this.#options;
    try {
      if (isStream) this.#takeEvents(this.#endBufferedEvent(chunk));
      else this.#buffered.add(chunk);
      if (this.#buffered.length > (this.#long === null ? limit : EVENT_END_BEGUN)) this.#takeLong();
    } catch (error) {
      this.#fail(error);
    }
  }

  end(): void {
    const { isStream } = this.#options;
    this.#hasEnded = true;
    try {
      const rest = isStream ? this.#rewrite(this.#buffered.bytes)[0] : this.#buffered.bytes;
      if (isStream || this.#long !== null) this.#send(rest);
      else this.#run(() => this.#sendDocument(rest));
      this.#run(() => this.#options.listener.report(ENDED));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Runs in order; at once when nothing is being edited. */
  #run(work: () => void | Promise<void>): void {
    if (this.#editing !== null) this.#wait(this.#editing.then(() => (this.#hasFailed ? undefined : work())));
    else if (!this.#hasFailed) {
      try {
        const done = work();
        if (done !== undefined) this.#wait(done);
      } catch (error) {
        this.#fail(error);
      }
    }
  }

  #wait(done: Promise<void>): void {
    const { listener } = this.#options;
    if (this.#editing === null && !this.#hasEnded) {
      this.#isPaused = true;
      listener.pause();
    }
    const settled = done
      .catch((error: unknown) => this.#fail(error))
      .then(() => {
        if (this.#editing !== settled) return;
        this.#editing = null;
        const wasPaused = this.#isPaused;
        this.#isPaused = false;
        // May write the next chunk at once, which is paused again.
        if (wasPaused && !this.#hasFailed) listener.resume();
      });
    this.#editing = settled;
  }

  #fail(error: unknown): void {
    if (!this.#hasFailed) this.#options.listener.report(failureOf(this.#options.name, error));
    this.#hasFailed = true;
  }

  /** Sends an event, or a piece of a long message. */
  #send(bytes: Buffer, isLast = true): void {
    const { edit, expected } = this.#options;
    const long = this.#long;
    this.#run(() => {
      if (long !== null) return this.#report(long(bytes, isLast));
      if (!mayMatter(bytes, edit)) return this.#report(bytes);
      return mapLater(editEvent(bytes, edit, expected()), (changed) => this.#report(changed));
    });
  }

  #sendDocument(bytes: Buffer): void | Promise<void> {
    const { edit, expected } = this.#options;
    return mapLater(editDocument(bytes, edit, expected(), false), (changed) =>
      this.#report(changed, changed.length),
    );
  }

  #report(bytes: Buffer, length: number | null = null): void {
    this.#options.listener.report({ kind: 'bytes', bytes, length });
  }

  /** Sends the buffered event if it ends in this chunk. @returns the bytes after it; `null`: it continues */
  #endBufferedEvent(chunk: Buffer): Buffer | null {
    const buffered = this.#buffered;
    if (buffered.length === 0) return chunk;
    const last = buffered.bytes.subarray(-EVENT_END_BEGUN);
    const divided = firstEventEnd(Buffer.concat([last, chunk.subarray(0, 2)]));
    const end = divided === 0 ? firstEventEnd(chunk) : divided - last.length;
    buffered.add(end === 0 ? chunk : chunk.subarray(0, end));
    if (end === 0) return null;
    this.#takeEvent(this.#rewrite(buffered.bytes)[0]);
    buffered.drop(buffered.length);
    return chunk.subarray(end);
  }

  #takeEvents(bytes: Buffer | null): void {
    if (bytes === null) return;
    const end = lastEventEnd(bytes);
    if (end > 0) this.#takeComplete(this.#rewrite(bytes.subarray(0, end))[0]);
    this.#buffered.add(bytes.subarray(end));
    // Not with the rest of its chunk.
    if (end > 0) this.#buffered.drop(0);
  }

  /** Unedited events are written together, however short they are. */
  #takeComplete(events: Buffer): void {
    const { edit } = this.#options;
    let [sent, last] = [0, 0];
    for (const end of mayMatter(events, edit) ? eventEnds(events) : []) {
      const event = events.subarray(last, end);
      if (mayMatter(event, edit)) {
        this.#pass(events.subarray(sent, last));
        this.#takeEvent(event);
        sent = end;
      }
      last = end;
    }
    this.#pass(events.subarray(sent));
  }

  /** Seals the ids of events. @returns the bytes to send, and the rest, which is the beginning of an id */
  #rewrite(bytes: Buffer): readonly [rewritten: Buffer, rest: Buffer] {
    const { listener } = this.#options;
    const given = this.#isFirst && startsWithMark(bytes) ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
    if (given.includes(TOOLS_CHANGED)) listener.toolsChanged();
    const result = rewriteIds(given, this.#isLineStart, (id) => listener.sealEventId(id));
    this.#isFirst = false;
    this.#isLineStart = result[1].length > 0 || bytes.length === 0 || isLineEnd(bytes.at(-1));
    return result;
  }

  #takeEvent(event: Buffer): void {
    this.#send(event);
    this.#long = null;
  }

  #pass(bytes: Buffer): void {
    if (bytes.length > 0) this.#run(() => this.#report(bytes));
  }

  #takeLong(): void {
    const { isStream, limit, edit, expected } = this.#options;
    if (this.#long === null) {
      if (!edit.mayPassLong(methodOf(this.#buffered.bytes))) {
        this.#run(() => Promise.reject(new MessageTooLong(`it is longer than ${limit} bytes`)));
        return;
      }
      const watch = createLongWatch(edit.mayPassLong, expected(), isStream);
      this.#long = createLongMessage(watch, isStream, edit.mayBeCached);
    }
    const { bytes } = this.#buffered;
    const [sent, rest] = isStream ? this.#rewrite(bytes.subarray(0, -EVENT_END_BEGUN)) : [bytes, NOTHING];
    this.#send(sent, false);
    this.#buffered.drop(isStream ? bytes.length - EVENT_END_BEGUN - rest.length : bytes.length);
  }
}

function failureOf(name: string, error: unknown): EditedEvent {
  const isTooLong = error instanceof MessageTooLong;
  const isUnreadable = isTooLong || error instanceof SyntaxError;
  return {
    kind: 'failed',
    error: isUnreadable ? badGateway(`A response of ${name} is not passed on: ${error.message}.`) : error,
    outcome: isTooLong ? 'too_long' : 'error',
  };
}

function* eventEnds(bytes: Buffer): Generator<number> {
  // Bytes are characters here: line ends are the same in UTF-8.
  for (const { index, 0: end } of bytes.toString('latin1').matchAll(EVENT_END)) yield index + end.length;
}

/** 0: no event ends here. */
function firstEventEnd(bytes: Buffer): number {
  const found = EMPTY_LINES.map((line) => bytes.indexOf(line)).filter((at) => at !== -1);
  return found.length === 0 ? 0 : afterEmptyLine(bytes, Math.min(...found));
}

/** 0: no event ends here. */
function lastEventEnd(bytes: Buffer): number {
  return afterEmptyLine(bytes, Math.max(...EMPTY_LINES.map((line) => bytes.lastIndexOf(line))));
}

function afterEmptyLine(bytes: Buffer, at: number): number {
  if (at === -1) return 0;
  return bytes[at + 1] === CARRIAGE_RETURN && bytes[at + 2] === LINE_FEED ? at + 3 : at + 2;
}

/** An event up to the method of its message, after the byte order mark of a stream. */
const BEGINNING =
  /^(?:\xef\xbb\xbf)?(?:(?!data).*(?:\r\n|\n|\r(?!\n)))*data:? ?\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:"[^"]*"|\d+)\s*,\s*)*"method"\s*:\s*"([^"\\]*)"/;

function methodOf(event: Buffer): string | null {
  return BEGINNING.exec(event.toString('latin1', 0, EVENT_BEGINNING))?.[1] ?? null;
}

/** Whether an event may hold a response, or has to change. */
function mayMatter(event: Buffer, edit: BodyEdit): boolean {
  return mayHoldResponse(event) || mayChange(event, edit);
}

function mayChange(bytes: Buffer, { mayBeCached }: BodyEdit): boolean {
  return (
    mayHoldLists(bytes) ||
    mayHoldHandles(bytes) ||
    mayHoldUpdate(bytes) ||
    (mayBeCached && mayHoldScope(bytes))
  );
}

/** A message, or a batch of them. */
function editDocument(
  bytes: Buffer,
  edit: BodyEdit,
  expected: ExpectedResponses,
  isStream: boolean,
): Buffer | Promise<Buffer> {
  if (bytes.length === 0) return bytes;
  // Where no request was sent, clients ignore what a backend answers, or take it for the response to another.
  if (!isStream && expected.ids.size === 0 && mayHoldResponse(bytes)) return NOTHING;
  checkResponses(bytes, expected, isStream);
  return mayChange(bytes, edit) ? applyTo(bytes, edit.apply) : bytes;
}

async function applyTo(bytes: Buffer, apply: BodyEdit['apply']): Promise<Buffer> {
  const parsed = parse(bytes);
  if (parsed === undefined) return bytes;
  const messages: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  const edited = await Promise.all(messages.map(apply));
  if (edited.every((message, index) => message === messages[index])) return bytes;
  const retained = edited.filter((message) => message !== null);
  if (retained.length === 0) return NOTHING;
  return Buffer.from(JSON.stringify(Array.isArray(parsed) ? retained : retained[0]));
}

const NOTHING: Buffer = Buffer.alloc(0);

/** Also U+2028 and U+2029, which end no line of an event stream. @see HTML §9.2.6 */
const DATA = /^data:? ?(.*)$/s;

function editEvent(event: Buffer, edit: BodyEdit, expected: ExpectedResponses): Buffer | Promise<Buffer> {
  const lines = event.toString().split(/\r\n|\n|\r/);
  const isData = (line: string) => /^data(?::|$)/.test(line);
  const data = lines.filter(isData).map((line) => DATA.exec(line)?.[1] ?? '');
  const before = Buffer.from(data.join('\n'));
  return mapLater(editDocument(before, edit, expected, true), (after) => {
    if (after === before) return event;
    const others = lines.filter((line) => line !== '' && !isData(line));
    // Without data, clients take its ID alone. @see HTML §9.2.6
    const edited = after.length === 0 ? [] : [`data: ${after.toString()}`];
    return Buffer.from(`${[...others, ...edited].join('\n')}\n\n`);
  });
}

/** Clients ignore a byte order mark. `undefined` for what is no JSON. @see RFC 8259 §8.1 */
function parse(bytes: Buffer): unknown {
  try {
    return parseExactly(bytes.toString().replace(/^\uFEFF/, ''));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    // It nests too deep to be edited, and must not pass without.
    throw error;
  }
}
