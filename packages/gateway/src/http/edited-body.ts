/** Edits the JSON-RPC responses in a body: of a JSON document, or of an event stream, event by event. */

/** Changes a parsed message; returns the same one if nothing changes. */
export type EditMessage = (message: unknown) => unknown;

export interface EditedBody {
  push(chunk: Buffer): void;
  end(): void;
}

export interface EditedBodyOptions {
  readonly isStream: boolean;
  /** Bytes of a document or an event. */
  readonly limit: number;
  readonly edit: EditMessage;
  readonly write: (bytes: Buffer) => void;
  readonly end: () => void;
  /** The body cannot be read, or must not be sent as it is. */
  readonly fail: (error: unknown) => void;
}

/** An event ends with an empty line. @see HTML §9.2.5 */
const EVENT_END = /\r\n\r\n|\n\n|\r\r/;

export function createEditedBody(options: EditedBodyOptions): EditedBody {
  const { isStream, limit, edit, write, end, fail } = options;
  let held: Buffer = Buffer.alloc(0);
  let order: Promise<void> = Promise.resolve();
  let hasFailed = false;

  function then(work: () => void | Promise<void>): void {
    order = order.then(async () => {
      if (hasFailed) return;
      try {
        await work();
      } catch (error) {
        hasFailed = true;
        fail(error);
      }
    });
  }

  function takeEvents(): void {
    // Bytes are characters here: line ends are the same in UTF-8.
    const text = held.toString('latin1');
    let from = 0;
    for (;;) {
      const found = EVENT_END.exec(text.slice(from));
      if (found === null) break;
      const to = from + found.index + found[0].length;
      const event = held.subarray(from, to);
      then(async () => write(await editEvent(event, edit)));
      from = to;
    }
    held = held.subarray(from);
  }

  return {
    push(chunk) {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      if (isStream) takeEvents();
      if (held.length > limit) then(() => Promise.reject(new RangeError('A message is too long.')));
    },
    end() {
      const rest = held;
      then(async () => {
        if (isStream) write(await editEvent(rest, edit));
        else write(await editDocument(rest, edit));
        end();
      });
    },
  };
}

/** A message, or a batch of them. Whatever is no JSON holds no list. */
async function editDocument(bytes: Buffer, edit: EditMessage): Promise<Buffer> {
  const parsed = parse(bytes.toString());
  if (parsed === undefined) return bytes;
  const messages: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  const edited = await Promise.all(messages.map(edit));
  if (edited.every((message, index) => message === messages[index])) return bytes;
  return Buffer.from(JSON.stringify(Array.isArray(parsed) ? edited : edited[0]));
}

const DATA = /^data:? ?(.*)$/;

async function editEvent(event: Buffer, edit: EditMessage): Promise<Buffer> {
  if (!event.includes('"result"')) return event;
  const lines = event.toString().split(/\r\n|\n|\r/);
  const isData = (line: string) => /^data(?::|$)/.test(line);
  const data = lines.filter(isData).map((line) => DATA.exec(line)?.[1] ?? '');
  const before = Buffer.from(data.join('\n'));
  const after = await editDocument(before, edit);
  if (after === before) return event;
  const others = lines.filter((line) => line !== '' && !isData(line));
  return Buffer.from(`${[...others, `data: ${after.toString()}`].join('\n')}\n\n`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
