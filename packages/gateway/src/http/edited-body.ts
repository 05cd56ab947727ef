/** Edits the JSON-RPC responses in a body: of a JSON document, or of an event stream, event by event. */

/** Changes the messages of a response. */
export interface MessageEdit {
  /** Changes a parsed message; returns the same one if nothing changes. */
  readonly apply: (message: unknown) => unknown;
  /** Whether bytes of a message may have to change. */
  readonly mayApply: (bytes: Buffer) => boolean;
  /** Whether a message that is too long must not pass as it is. */
  readonly isRequired: boolean;
  /** Whether it also applies to a response that is no stream. */
  readonly forDocuments: boolean;
}

export interface EditedBody {
  push(chunk: Buffer): void;
  end(): void;
}

export interface EditedBodyOptions {
  readonly isStream: boolean;
  /** Bytes of a document or an event. */
  readonly limit: number;
  readonly edit: MessageEdit;
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
  /** Settles when the message before has been written; `null`: none is being edited. */
  let editing: Promise<void> | null = null;
  let hasFailed = false;
  /** Whether the rest of a message that was too long to be edited passes as it is. */
  let isPassing = false;

  /** Runs in order; at once when nothing is being edited. */
  function run(work: () => void | Promise<void>): void {
    if (editing !== null) wait(editing.then(() => (hasFailed ? undefined : work())));
    else if (!hasFailed) {
      const done = work();
      if (done !== undefined) wait(done);
    }
  }

  function wait(done: Promise<void>): void {
    const settled = done
      .catch((error: unknown) => {
        if (!hasFailed) fail(error);
        hasFailed = true;
      })
      .then(() => {
        if (editing === settled) editing = null;
      });
    editing = settled;
  }

  function send(bytes: Buffer, change: (bytes: Buffer) => Promise<Buffer>): void {
    const isWhole = !isPassing;
    run(() => (isWhole && edit.mayApply(bytes) ? change(bytes).then(write) : write(bytes)));
  }

  function takeEvents(): void {
    // Bytes are characters here: line ends are the same in UTF-8.
    const text = held.toString('latin1');
    let from = 0;
    for (;;) {
      const found = EVENT_END.exec(text.slice(from));
      if (found === null) break;
      const to = from + found.index + found[0].length;
      send(held.subarray(from, to), (event) => editEvent(event, edit));
      isPassing = false;
      from = to;
    }
    held = held.subarray(from);
  }

  function takeLong(): void {
    if (edit.isRequired) {
      run(() => Promise.reject(new RangeError('A message is too long.')));
      return;
    }
    isPassing = true;
    // The last bytes may be the first of those that end an event.
    const bytes = isStream ? held.subarray(0, -3) : held;
    send(bytes, async () => bytes);
    held = held.subarray(bytes.length);
  }

  return {
    push(chunk) {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      if (isStream) takeEvents();
      if (held.length > (isPassing ? 3 : limit)) takeLong();
    },
    end() {
      send(held, (rest) => (isStream ? editEvent(rest, edit) : editDocument(rest, edit)));
      run(end);
    },
  };
}

/** A message, or a batch of them. Whatever is no JSON holds no list. */
async function editDocument(bytes: Buffer, { apply }: MessageEdit): Promise<Buffer> {
  const parsed = parse(bytes.toString());
  if (parsed === undefined) return bytes;
  const messages: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  const edited = await Promise.all(messages.map(apply));
  if (edited.every((message, index) => message === messages[index])) return bytes;
  return Buffer.from(JSON.stringify(Array.isArray(parsed) ? edited : edited[0]));
}

const DATA = /^data:? ?(.*)$/;

async function editEvent(event: Buffer, edit: MessageEdit): Promise<Buffer> {
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
