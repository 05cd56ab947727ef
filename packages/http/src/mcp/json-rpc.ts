/** JSON-RPC messages, parsed only as far as routing requires: unknown members are preserved. */
import { isNumberText, nestsDeeper, parseExactly, toDouble } from './parse-exactly.ts';

/** Identifier of a JSON-RPC request; its response has the same. @see JSON-RPC 2.0 §4 */
export type MessageId = string | number;

/** A JSON-RPC message: a request, a notification or a response. @see JSON-RPC 2.0 §4, §5 */
export interface Message {
  readonly jsonrpc: '2.0';
  readonly id?: MessageId | null;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** A message that requires a response. A notification has no `id`. */
export interface RequestMessage extends Message {
  readonly id: MessageId;
  readonly method: string;
}

/** Members of a JSON object. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object. */
export function isMembers(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumberText(value);
}

/** `null` for anything that is not a message, and for one whose number for an `id` cannot be repeated. @see JSON-RPC 2.0 §5 */
export function readMessage(value: unknown): Message | null {
  if (!isMembers(value) || value['jsonrpc'] !== '2.0') return null;
  const { id: written, method, error } = value;
  // Some JSON libraries write all numbers as `1.0`.
  const id = toDouble(written);
  if (id !== written && !Number.isSafeInteger(id)) return null;
  const hasId = id === undefined || id === null || typeof id === 'string' || typeof id === 'number';
  const isKnown = typeof method === 'string' || 'result' in value || 'error' in value;
  if (!hasId || !isKnown) return null;
  const code = isMembers(error) ? error['code'] : undefined;
  const read = isNumberText(code) ? { ...value, error: { ...Object(error), code: toDouble(code) } } : value;
  return (id === written ? read : { ...read, id }) as JsonFields & Message;
}

/** Levels of arrays and objects in a message: twice those of a request to the gateway, because responses may repeat its arguments. */
const MAX_DEPTH = 512;

/**
 * `null` for text that is not JSON, or not a message, or nests more than 512 levels deep. Numbers of its parameters and result stay as
 * they are written.
 */
export function parseMessage(text: string): Message | null {
  try {
    return nestsDeeper(text, MAX_DEPTH) ? null : readMessage(parseExactly(text));
  } catch {
    return null;
  }
}

/** Whether a message is a request, and not a notification or a response. */
export function isRequest(message: Message): message is RequestMessage {
  return message.method !== undefined && message.id !== undefined && message.id !== null;
}

/** Whether a message is a response, successful or not. */
export function isResponse(message: Message): boolean {
  return message.method === undefined;
}

/** The member of the parameters at a path. */
export function parameter(message: Message, ...path: readonly string[]): unknown {
  let value: unknown = message.params;
  for (const name of path) value = isMembers(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/** Returns the message with changed members in `params._meta`; `undefined` removes one. */
export function withMeta(message: Message, meta: JsonFields): Message {
  const params = isMembers(message.params) ? message.params : {};
  const before = isMembers(params['_meta']) ? params['_meta'] : {};
  const after = Object.entries({ ...before, ...meta }).filter(([, value]) => value !== undefined);
  return { ...message, params: { ...params, _meta: Object.fromEntries(after) } };
}

/** Creates an error response. */
export function errorResponse(id: MessageId | null, code: number, message: string, data?: unknown): Message {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } };
}

/** Codes of JSON-RPC and of MCP. */
export const errorCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  /** Implementation-defined: the backend did not respond. */
  unavailable: -32_000,
  sessionNotFound: -32_001,
  resourceNotFound: -32_002,
  /** Implementation-defined: the operation is not allowed, with whatever scopes. */
  forbidden: -32_003,
  headerMismatch: -32_020,
  missingClientCapability: -32_021,
  unsupportedVersion: -32_022,
  /** @see MCP 2025-11-25, URL mode elicitation */
  urlElicitationRequired: -32_042,
} as const;

/** Whether a message is the response to the request with this `id`. */
export function isResponseTo(message: Message, id: MessageId): boolean {
  return isResponse(message) && message.id === id;
}

/** Metadata key that names the client of a stateless request. */
export const CLIENT_INFO_KEY = 'io.modelcontextprotocol/clientInfo';

/** Metadata key for the revision of a stateless request. */
export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

/** The revision in a stateless request; `null` for a message of a session. */
export function statelessVersion(message: Message): string | null {
  const version = parameter(message, '_meta', VERSION_KEY);
  return typeof version === 'string' ? version : null;
}
