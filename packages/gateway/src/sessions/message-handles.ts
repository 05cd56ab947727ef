/** Task ids, request states and ids of server requests in messages: sealed on the way to a client, opened on the way to the backend. */
import { isMembers, type JsonFields } from '@portcullis/http';
import { MessageError } from '../messages/message-error.ts';
import { RELATED_TASK } from '../messages/read-message.ts';
import type { ByteRange, ScannedBody, ScannedMessage, ScannedText } from '../messages/scanned-message.ts';
import type { Owner } from '../servers/request.ts';
import type { SealedKind, Sealer } from './sealer.ts';

/** A part of a body. */
interface BodyPart {
  /** Its offset. */
  readonly from: number;
  /** Whether the result must have the same length. */
  readonly keepsLength: boolean;
}

const WHOLE: BodyPart = { from: 0, keepsLength: false };

/** Whether a message of a backend is a notification that names no server request: neither a list nor such a request itself. */
export function isPlainNotification(method: string | null): boolean {
  return method?.startsWith('notifications/') === true && method !== 'notifications/cancelled';
}

/** Whether a message of a backend neither is nor cancels a server request. @param method `null` for a response */
export function isNoServerRequest(method: string | null): boolean {
  return method === null || isPlainNotification(method);
}

/** What rules decide about: a method, and the tool, prompt or resource that it names. */
export type Operation = readonly [method: string, target: string | null];

/** The operation of a body; `null` without one, and for a batch. */
export function operationOf(messages: readonly ScannedMessage[]): Operation | null {
  const [message] = messages;
  if (message === undefined || messages.length > 1) return null;
  const { method, tool, prompt, resource } = message;
  return [method, tool ?? prompt ?? resource];
}

/** Seals a request state for one operation: sent with another one, it would continue a call that no rule has decided about. */
export function sealState(
  sealer: Sealer,
  kind: 'request' | 'action',
  owner: Owner,
  operation: Operation | null,
  state: string,
): string {
  return sealer.seal(kind, owner, JSON.stringify(operation) + state);
}

/** `null`: it was sealed for another owner or another operation, is of another kind, or was not sealed here. */
export function openState(
  sealer: Sealer,
  kind: 'request' | 'action',
  owner: Owner,
  operation: Operation | null,
  sealed: string,
): string | null {
  const text = sealer.open(kind, owner, sealed);
  const prefix = JSON.stringify(operation);
  return operation !== null && text?.startsWith(prefix) === true ? text.slice(prefix.length) : null;
}

/** Seals and opens the IDs in messages of one owner. */
export class MessageHandles {
  readonly #sealer: Sealer;
  readonly #owner: Owner;

  constructor(sealer: Sealer, owner: Owner) {
    this.#sealer = sealer;
    this.#owner = owner;
  }

  /**
   * A parsed message of the backend as the client sees it; the same object if it holds no IDs.
   * @param operation that it responds to
   */
  seal(message: unknown, operation: Operation | null): unknown {
    return sealMessage(message, (kind, text) =>
      kind === 'request'
        ? sealState(this.#sealer, kind, this.#owner, operation, text)
        : this.#sealer.seal(kind, this.#owner, text),
    );
  }

  /**
   * The body of a client, or a part of it, as the backend sees it; the same buffer if it holds no IDs.
   * @param part by default the whole body
   * @throws MessageError for a task, request state or server request of another owner, for a request state of another operation, and for
   * what was not issued here
   */
  open(bytes: Buffer, { messages }: ScannedBody, part: BodyPart = WHOLE): Buffer {
    const operation = operationOf(messages);
    const edits = messages.flatMap((message) =>
      editsOf(message, (kind, text) =>
        kind === 'request'
          ? openState(this.#sealer, kind, this.#owner, operation, text)
          : this.#sealer.open(kind, this.#owner, text),
      ),
    );
    return edits.length === 0 ? bytes : withEdits(bytes, edits, part);
  }

  /** Whether the task that a message names is one of the owner. */
  knowsTask({ task }: ScannedMessage): boolean {
    return task !== null && this.#sealer.open('task', this.#owner, task.value) !== null;
  }

  /** Opens the header `Mcp-Name`, which repeats the task of a message. */
  openName(name: string, { messages }: ScannedBody): string {
    const task = messages.length === 1 && messages[0] !== undefined ? taskOf(messages[0]) : null;
    return (task !== null && task.value === name && this.#sealer.open('task', this.#owner, name)) || name;
  }
}

type Translate<Result> = (kind: SealedKind, text: string) => Result;

function sealMessage(message: unknown, seal: Translate<string>): unknown {
  if (!isMembers(message)) return message;
  const { method, params, result } = message;
  if (typeof method === 'string') {
    const sealed = isMembers(params) ? sealParameters(method, params, seal) : params;
    const own = sealed === params ? message : { ...message, params: sealed };
    return sealRequestId(own, 'id', seal);
  }
  const sealed = isMembers(result) ? sealResult(result, seal) : result;
  return sealed === result ? message : { ...message, result: sealed };
}

/** A backend's requests about tasks refer to tasks that the client has issued. */
function sealParameters(method: string, params: JsonFields, seal: Translate<string>): JsonFields {
  if (method === 'notifications/cancelled') return sealRequestId(params, 'requestId', seal);
  const about = method.startsWith('notifications/tasks') ? sealTask(params, seal) : params;
  return sealRelated(about, seal);
}

/** Backends may count their requests: a client that guesses an id could respond to another client's. */
function sealRequestId(value: JsonFields, name: 'id' | 'requestId', seal: Translate<string>): JsonFields {
  const id = value[name];
  if (typeof id !== 'string' && typeof id !== 'number') return value;
  return { ...value, [name]: seal('question', JSON.stringify(id)) };
}

function sealResult(result: JsonFields, seal: Translate<string>): JsonFields {
  let sealed = sealRelated(sealTask(result, seal), seal);
  const { requestState, task, tasks } = sealed;
  if (typeof requestState === 'string') sealed = { ...sealed, requestState: seal('request', requestState) };
  if (isMembers(task)) sealed = { ...sealed, task: sealTask(task, seal) };
  if (Array.isArray(tasks))
    sealed = { ...sealed, tasks: tasks.map((one: unknown) => (isMembers(one) ? sealTask(one, seal) : one)) };
  return sealed;
}

/** A task, which also has a status: other results may have a member of that name. */
function sealTask(value: JsonFields, seal: Translate<string>): JsonFields {
  const { taskId, status } = value;
  return typeof taskId === 'string' && typeof status === 'string'
    ? { ...value, taskId: seal('task', taskId) }
    : value;
}

function sealRelated(value: JsonFields, seal: Translate<string>): JsonFields {
  const meta = value['_meta'];
  const related = isMembers(meta) ? meta[RELATED_TASK] : undefined;
  if (!isMembers(meta) || !isMembers(related) || typeof related['taskId'] !== 'string') return value;
  const sealed = { ...related, taskId: seal('task', related['taskId']) };
  return { ...value, _meta: { ...meta, [RELATED_TASK]: sealed } };
}

/** A replacement in a body. */
export interface Edit {
  readonly range: ByteRange;
  /** JSON. */
  readonly text: string;
}

function editsOf(message: ScannedMessage, open: Translate<string | null>): readonly Edit[] {
  const edits: Edit[] = [];
  const add = (kind: SealedKind, text: ScannedText | null, refusal: string | null): void => {
    if (text === null) return;
    const value = open(kind, text.value);
    if (value !== null) edits.push({ text: JSON.stringify(value), range: text.range });
    else if (refusal !== null)
      throw new MessageError('invalidParams', refusal, { status: 200, id: message.id });
  };
  add('task', taskOf(message), 'Failed to retrieve task: Task not found');
  add(
    'request',
    message.requestState,
    'The requestState is not known here, or is not for this operation. Call again without it.',
  );
  // A client names tasks of its own as well, in responses about them.
  add('task', message.relatedTask, null);
  if (message.serverRequest === null) return edits;
  const id = open('question', message.serverRequest.value);
  if (id === null)
    throw new MessageError(
      'invalidRequest',
      'No request of the server with this id waits for a response here.',
    );
  return [...edits, { text: id, range: message.serverRequest.range }];
}

/** In other methods the parameter has another meaning. */
function taskOf({ method, task }: ScannedMessage): ScannedText | null {
  return isTaskMethod(method) ? task : null;
}

export function isTaskMethod(method: string): boolean {
  return method.startsWith('tasks/');
}

/** The body with replacements that do not overlap. */
export function withEdits(
  bytes: Buffer,
  edits: readonly Edit[],
  { from, keepsLength }: BodyPart = WHOLE,
): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  // Edits before this part have been made.
  const own = edits.filter(({ range }) => range.start >= from);
  for (const { text, range } of own.toSorted((a, b) => a.range.start - b.range.start)) {
    const value = Buffer.from(text);
    parts.push(bytes.subarray(at, range.start - from), value);
    at = range.end - from;
    if (keepsLength) parts.push(spaces(range.end - range.start - value.length));
  }
  return Buffer.concat([...parts, bytes.subarray(at)]);
}

/** Pads an opened value with white space to its sealed length. Only an ID with many quotes is longer opened than sealed. */
function spaces(count: number): Buffer {
  if (count >= 0) return Buffer.alloc(count, ' ');
  throw new MessageError('invalidParams', 'Write requestState and taskId before the arguments.');
}
