/** JSON-RPC messages as the two wires carry them: just enough of their shape to pass them on. */
import { isObject, type Json } from '../json.ts';

export type Id = string | number;

export interface Message {
  readonly jsonrpc: '2.0';
  readonly id?: Id | null;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

export interface RequestMessage extends Message {
  readonly id: Id;
  readonly method: string;
}

/** A message, or `null` for anything else. */
export function readMessage(value: unknown): Message | null {
  if (!isObject(value) || value['jsonrpc'] !== '2.0') return null;
  return isMessage(value) ? value : null;
}

function isMessage(value: Json): value is Json & Message {
  const { id, method } = value;
  const known = id === undefined || id === null || typeof id === 'string' || typeof id === 'number';
  return known && (typeof method === 'string' || 'result' in value || 'error' in value);
}

export function isRequest(message: Message): message is RequestMessage {
  return message.method !== undefined && message.id !== undefined && message.id !== null;
}

export function isResponse(message: Message): boolean {
  return message.method === undefined;
}

export function isAnswerTo(message: Message, id: Id): boolean {
  return isResponse(message) && message.id === id;
}

/** A member of the parameters, at a path. */
export function parameter(message: Message, ...path: readonly string[]): unknown {
  let value: unknown = message.params;
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/** Where a request of the stateless wire says its revision. */
export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

/** The revision that a message carries with it; `null` on the wire with sessions. */
export function statelessVersion(message: Message): string | null {
  const version = parameter(message, '_meta', VERSION_KEY);
  return typeof version === 'string' ? version : null;
}

/** An error in the place of an answer that never came. */
export function failureResponse(id: Id, message: string, code = -32000): Message {
  return { jsonrpc: '2.0', id, error: { code, message } };
}
