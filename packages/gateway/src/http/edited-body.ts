/** Edits the JSON-RPC responses in a body: of a JSON document, or of an event stream, event by event. */

import { HeldBytes } from './held-bytes.ts';

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
const EVENT_END = /\r\n\r\n|\n\n|\r\r/g;
/** The last bytes of a chunk that may be the first of those that end an event. */
const EVENT_END_BEGUN = 3;

export function createEditedBody(options: EditedBodyOptions): EditedBody {
  const { isStream, limit, edit, write, end, fail } = options;
  const held = new HeldBytes();
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

  /** @param searched how many of the bytes contain no end of an event */
  function takeEvents(searched: number): void {
    const { bytes } = held;
    const start = Math.max(0, searched - EVENT_END_BEGUN);
    let [from, sent] = [0, 0];
    // Bytes are characters here: line ends are the same in UTF-8.
    for (const found of bytes.toString('latin1', start).matchAll(EVENT_END)) {
      const to = start + found.index + found[0].length;
      const event = bytes.subarray(from, to);
      // Those that pass as they are pass together, however short they are.
      if (!isPassing && edit.mayApply(event)) {
        pass(bytes.subarray(sent, from));
        send(event, (one) => editEvent(one, edit));
        sent = to;
      }
      isPassing = false;
      from = to;
    }
    pass(bytes.subarray(sent, from));
    if (from > 0) held.drop(from);
  }

  function pass(bytes: Buffer): void {
    if (bytes.length > 0) run(() => write(bytes));
  }

  function takeLong(): void {
    if (edit.isRequired) {
      run(() => Promise.reject(new RangeError('A message is too long.')));
      return;
    }
    isPassing = true;
    const bytes = isStream ? held.bytes.subarray(0, -EVENT_END_BEGUN) : held.bytes;
    send(bytes, async () => bytes);
    held.drop(bytes.length);
  }

  return {
    push(chunk) {
      const before = held.length;
      held.add(chunk);
      if (isStream) takeEvents(before);
      if (held.length > (isPassing ? EVENT_END_BEGUN : limit)) takeLong();
    },
    end() {
      send(held.bytes, (rest) => (isStream ? editEvent(rest, edit) : editDocument(rest, edit)));
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
