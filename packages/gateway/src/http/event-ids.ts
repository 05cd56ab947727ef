/** Rewrites the `id` lines of an event stream; all other bytes pass unchanged. @see HTML §9.2.6: a line ends with CR, LF, or both */
import { MAX_EVENT_ID_LINE } from '../limits.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LETTER_I = 0x69;
const LETTER_D = 0x64;
/** Searched as a whole: `id` alone is in every message. */
const LINES_WITH_ID = ['\nid', '\rid'] as const;
const COLON = 0x3a;

/**
 * @param isLineStart whether the bytes begin a line
 * @param seal the id that the client sees
 * @returns the bytes up to the beginning of a line that may hold an id and has not ended, and the rest
 * @throws SyntaxError for an endless id
 */
export function rewriteIds(
  bytes: Buffer,
  isLineStart: boolean,
  seal: (id: string) => string,
): readonly [rewritten: Buffer, rest: Buffer] {
  const parts: Buffer[] = [];
  let from = 0;
  for (const at of idLines(bytes, isLineStart)) {
    const end = endOfLine(bytes, at);
    parts.push(bytes.subarray(from, at));
    from = end === -1 ? at : end;
    if ((end === -1 ? bytes.length : end) - at > MAX_EVENT_ID_LINE)
      throw new SyntaxError('the id of an event is too long');
    if (end === -1) return [Buffer.concat(parts), bytes.subarray(at)];
    parts.push(rewriteLine(bytes.subarray(at, end), seal));
  }
  return [parts.length === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(from)]), NO_BYTES];
}

const NO_BYTES: Buffer = Buffer.alloc(0);

/** Where the lines begin that may hold an id, in order. @param isLineStart whether the chunk begins a line */
function idLines(chunk: Buffer, isLineStart: boolean): readonly number[] {
  const last = chunk.length - 1;
  const lines = isLineStart && chunk[0] === LETTER_I && (last === 0 || mayBeId(chunk, 0)) ? [0] : [];
  for (const begin of LINES_WITH_ID)
    for (let at = chunk.indexOf(begin); at !== -1; at = chunk.indexOf(begin, at + 1))
      if (mayBeId(chunk, at + 1)) lines.push(at + 1);
  if (last > 0 && chunk[last] === LETTER_I && isLineEnd(chunk[last - 1])) lines.push(last);
  return lines.sort((a, b) => a - b);
}

export function isLineEnd(byte: number | undefined): boolean {
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
function rewriteLine(line: Buffer, seal: (id: string) => string): Buffer {
  const value = line.toString('utf8').slice(3).replace(/^ /, '');
  return value === '' ? line : Buffer.from(`id: ${seal(value)}`);
}
