/** Rewrites the `id` lines of an event stream and detects `tools/list_changed`; all other bytes pass unchanged. */
import { MAX_EVENT_ID_LINE } from '../limits.ts';
import type { ByteSink } from './edited-body.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LETTER_I = 0x69;
const LETTER_D = 0x64;
/** Searched as a whole: `id` alone is in every message. */
const LINES_WITH_ID = ['\nid', '\rid'] as const;
const COLON = 0x3a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const TOOLS_CHANGED = Buffer.from('notifications/tools/list_changed');
const NO_BYTES: Buffer = Buffer.alloc(0);

/** What is reported of an event stream. */
export interface EventStreamListener {
  /** @returns the id that the client sees */
  sealEventId(id: string): string;
  /** The stream announces that the list of tools has changed. */
  toolsChanged(): void;
}

/** @see HTML §9.2.6: a line ends with CR, LF, or both; a line without a colon is a field without a value */
export class EventIdFilter implements ByteSink {
  readonly #listener: EventStreamListener;
  readonly #sink: ByteSink;
  /** The last bytes of the stream, fewer than the notification has. */
  #lastBytes: Buffer = NO_BYTES;
  /** The beginning of a line that may hold an id. */
  #buffered: Buffer | null = null;
  #isAtLineStart = true;
  #isFirst = true;

  /** @param sink receives the bytes; `write` throws RangeError for an endless id */
  constructor(listener: EventStreamListener, sink: ByteSink) {
    this.#listener = listener;
    this.#sink = sink;
  }

  write(chunk: Buffer): void {
    if (this.#announcesTools(chunk)) this.#listener.toolsChanged();
    const bytes = this.#withoutMark(chunk);
    const rewritten = bytes === null ? null : this.#rewrite(bytes);
    if (rewritten !== null) this.#sink.write(rewritten);
  }

  end(): void {
    this.#sink.end();
  }

  /** Whether the notification ends in this chunk, which may have only the rest of it. */
  #announcesTools(chunk: Buffer): boolean {
    const last = this.#lastBytes;
    const most = TOOLS_CHANGED.length - 1;
    this.#lastBytes = NO_BYTES;
    const isDivided =
      last.length > 0 && Buffer.concat([last, chunk.subarray(0, most)]).includes(TOOLS_CHANGED);
    const end = chunk.length >= most ? chunk : Buffer.concat([last, chunk]);
    // Usually an event ends at the end of a chunk.
    if (chunk.at(-1) !== LINE_FEED) this.#lastBytes = Buffer.from(end.subarray(-most));
    return isDivided || chunk.includes(TOOLS_CHANGED);
  }

  /** @returns what is buffered and the chunk, without a byte order mark; `null` while it may be one */
  #withoutMark(chunk: Buffer): Buffer | null {
    const all: Buffer = this.#buffered === null ? chunk : Buffer.concat([this.#buffered, chunk]);
    this.#buffered = null;
    if (!this.#isFirst) return all;
    if (all.length < BYTE_ORDER_MARK.length && BYTE_ORDER_MARK.subarray(0, all.length).equals(all)) {
      this.#buffered = all;
      return null;
    }
    this.#isFirst = false;
    return all.subarray(0, 3).equals(BYTE_ORDER_MARK) ? all.subarray(3) : all;
  }

  #rewrite(chunk: Buffer): Buffer | null {
    const parts: Buffer[] = [];
    let from = 0;
    for (const at of idLines(chunk, this.#isAtLineStart)) {
      const end = endOfLine(chunk, at);
      if (from < at) parts.push(chunk.subarray(from, at));
      if (end === -1) {
        this.#hold(chunk.subarray(at));
        return join(parts);
      }
      parts.push(rewriteLine(chunk.subarray(at, end), this.#listener));
      from = end;
    }
    if (chunk.length > 0) this.#isAtLineStart = isLineEnd(chunk.at(-1));
    if (from < chunk.length) parts.push(from === 0 ? chunk : chunk.subarray(from));
    return join(parts);
  }

  #hold(line: Buffer): void {
    if (line.length > MAX_EVENT_ID_LINE) throw new RangeError('The id of an event is too long.');
    this.#buffered = line;
    this.#isAtLineStart = true;
  }
}

/** Where the lines begin that may hold an id, in order. @param isAtLineStart whether the chunk begins a line */
function idLines(chunk: Buffer, isAtLineStart: boolean): readonly number[] {
  const last = chunk.length - 1;
  const lines = isAtLineStart && chunk[0] === LETTER_I && (last === 0 || mayBeId(chunk, 0)) ? [0] : [];
  for (const begin of LINES_WITH_ID)
    for (let at = chunk.indexOf(begin); at !== -1; at = chunk.indexOf(begin, at + 1))
      if (mayBeId(chunk, at + 1)) lines.push(at + 1);
  if (last > 0 && chunk[last] === LETTER_I && isLineEnd(chunk[last - 1])) lines.push(last);
  return lines.sort((a, b) => a - b);
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN;
}

/** Whether the line that begins with `i` is `id`, `id:…`, or too short yet to say. */
function mayBeId(chunk: Buffer, at: number): boolean {
  const next = chunk[at + 2];
  return chunk[at + 1] === LETTER_D && (next === undefined || next === COLON || isLineEnd(next));
}

/** The index of the character that ends the line; -1 if it is not there yet. */
function endOfLine(chunk: Buffer, from: number): number {
  const feed = chunk.indexOf(LINE_FEED, from);
  const before = feed === -1 ? chunk : chunk.subarray(0, feed);
  const carriage = before.indexOf(CARRIAGE_RETURN, from);
  return carriage === -1 ? feed : carriage;
}

/** An empty id resets the client's; it stays empty. */
function rewriteLine(line: Buffer, listener: EventStreamListener): Buffer {
  const value = line.toString('utf8').slice(3).replace(/^ /, '');
  return value === '' ? line : Buffer.from(`id: ${listener.sealEventId(value)}`);
}

function join(parts: readonly Buffer[]): Buffer | null {
  const [first] = parts;
  return parts.length > 1 ? Buffer.concat(parts) : (first ?? null);
}
