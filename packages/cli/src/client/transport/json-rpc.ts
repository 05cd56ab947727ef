/** JSON-RPC messages, validated only as far as the stdio bridge needs to route them. */
import { isObject, type Json } from '../../json.ts';

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

/** Reads a message; `null` for anything else. */
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

export function isResponseTo(message: Message, id: Id): boolean {
  return isResponse(message) && message.id === id;
}

/** The member of the parameters at a path. */
export function parameter(message: Message, ...path: readonly string[]): unknown {
  let value: unknown = message.params;
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/** Metadata key that names the client of a stateless request. */
export const CLIENT_INFO_KEY = 'io.modelcontextprotocol/clientInfo';

/** Metadata key that holds the revision of a stateless request. */
export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

/** The revision in a stateless request; `null` for a message of a session. */
export function statelessVersion(message: Message): string | null {
  const version = parameter(message, '_meta', VERSION_KEY);
  return typeof version === 'string' ? version : null;
}

/** Creates an error response for a request that the server did not respond to. */
export function failureResponse(id: Id, message: string, code = -32000): Message {
  return { jsonrpc: '2.0', id, error: { code, message } };
}
