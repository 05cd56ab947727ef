/** Parses server-sent events from a response body, with a limit on the length of each event. */

/** A server-sent event. @see HTML Standard §9.2 */
export interface ServerEvent {
  readonly type: string;
  readonly text: string;
  /** The last event ID received; `null` if there was none. */
  readonly id: string | null;
  /** Reconnection delay in milliseconds; `null` if the server has not set it. */
  readonly retry: number | null;
}

/** Default maximum length of one event. Tool results may contain images. */
const MAX_CHARACTERS = 64 * 1024 * 1024;

/** @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  limit: number = MAX_CHARACTERS,
): AsyncGenerator<ServerEvent> {
  let id: string | null = null;
  let retry: number | null = null;
  let type = '';
  let text: string[] = [];
  let size = 0;
  for await (const line of readLines(body, limit)) {
    if (line === '') {
      // An event without data still sets the event ID.
      if (text.length > 0 || id !== null) yield { type: type || 'message', text: text.join('\n'), id, retry };
      type = '';
      text = [];
      size = 0;
      continue;
    }
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') text.push(value);
    else if (name === 'event') type = value;
    else if (name === 'id' && !value.includes('\0')) id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) retry = Number(value);
    size += line.length;
    if (size > limit) throw new Error('The event is too long.');
  }
}

async function* readLines(body: ReadableStream<Uint8Array>, limit: number): AsyncGenerator<string> {
  // Buffered in chunks until a line ends: a long line is not searched again with every chunk.
  let pieces: string[] = [];
  let size = 0;
  let first = true;
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const piece = first ? chunk.replace(/^\ufeff/, '') : chunk;
    first = false;
    pieces.push(piece);
    size += piece.length;
    if (size > limit) throw new Error('The event is too long.');
    if (!/[\r\n]/.test(piece) && !pieces.at(-2)?.endsWith('\r')) continue;
    // A carriage return at the end may be the first half of CRLF.
    const lines = pieces.join('').split(/\r\n|\n|\r(?!$)/);
    const rest = lines.pop() ?? '';
    pieces = [rest];
    size = rest.length;
    yield* lines;
  }
  const rest = pieces.join('');
  if (rest.endsWith('\r')) yield rest.slice(0, -1);
}
