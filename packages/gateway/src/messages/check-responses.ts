/**
 * Which responses a backend may send, and that all clients read them the same: clients take a response by its id, whatever request its body answers. Another id would be that
 * of a request that is open elsewhere, whose response is checked there.
 * @see MCP 2025-11-25, Streamable HTTP, Sending Messages to the Server
 */
import { MAX_EXPECTED_ID } from '../limits.ts';
import { type JsonNode, type JsonShape, shapeOf } from './json-projection.ts';
import { JsonScanner, type ScanLimits } from './json-scanner.ts';
import type { ScannedBody } from './scanned-message.ts';

/** The requests that a body may answer. */
export interface ExpectedResponses {
  /** Their ids, in one form for all spellings. */
  readonly ids: ReadonlySet<string>;
  readonly isBatch: boolean;
}

/** For notifications, and for streams that answer nothing. */
export const NO_RESPONSES: ExpectedResponses = { ids: new Set(), isBatch: false };

export function expectedResponses({ messages, isBatch }: ScannedBody): ExpectedResponses {
  const ids = messages.flatMap(({ kind, id }) => (kind === 'request' && id !== null ? [formOf(id)] : []));
  return { ids: new Set(ids), isBatch };
}

/** The only spelling that `JSON.stringify` has for it. */
const SMALL_INTEGER = /^[1-9]\d{0,14}$/;

/** Equal for `"a"` and `"\u0061"`, and for `1` and `1.0`. @param json a string or a number */
function formOf(json: string): string {
  return SMALL_INTEGER.test(json) ? json : JSON.stringify(JSON.parse(json));
}

/** `result"` or `error"`: as it is, in other case (also with the long s, U+017F), or escaped; or in another encoding than UTF-8. */
const RESPONSE_MEMBER = /(?:re(?:s|\xc5\xbf)ult|error)"|\\u(?:00[4-7]|017f)|\0/i;

/** Whether bytes may hold an ID that is sealed. Names inside a JSON string are escaped: only structured output has them as well. */
export function mayHoldHandles(bytes: Buffer): boolean {
  // Without the opening quote, which every message contains: searching for it takes four times as long.
  return (
    bytes.includes('taskId"') ||
    bytes.includes('requestState"') ||
    (bytes.includes('method"') && (bytes.includes('id"') || bytes.includes('requestId"')))
  );
}

/** The end of the method that reports the change of a resource. Where a letter is escaped, the bytes may also hold a list. */
const UPDATED = /(?:\/|\\u002f)updated"/i;

/** Whether bytes may report the change of a resource. */
export function mayHoldUpdate(bytes: Buffer): boolean {
  // Most have no such text, and others a member of that name.
  return bytes.includes('updated"') && UPDATED.test(bytes.toString('latin1'));
}

/** Whether bytes may hold a response. */
export function mayHoldResponse(bytes: Buffer): boolean {
  return RESPONSE_MEMBER.test(bytes.toString('latin1'));
}

/**
 * Checks one message, or as much of it as has arrived.
 * @param message its members `id`, `method`, `result` and `error`, as far as they are known
 * @throws SyntaxError for a response to none of the requests
 */
function checkResponse({ members }: JsonNode, { ids }: ExpectedResponses, isComplete: boolean): void {
  const [id, result, error] = [members.get('id'), members.get('result'), members.get('error')];
  if (result === undefined && error === undefined) return;
  if (members.has('method')) throw new SyntaxError('it is a request and a response');
  if (id === undefined ? !isComplete : id.end === -1) return;
  // An error response to a request that could not be parsed has no id. @see JSON-RPC 2.0 §5
  if (result === undefined && (id === undefined || id.text === 'null')) return;
  if (id === undefined || !ids.has(textOf(id))) throw new SyntaxError('it answers another request');
}

/** Whether a complete message is the response to one of the requests. */
function answersOneOf({ members }: JsonNode, ids: ReadonlySet<string>): boolean {
  const id = members.get('id');
  return (members.has('result') || members.has('error')) && id !== undefined && ids.has(textOf(id));
}

function textOf({ type, text }: JsonNode): string {
  if (type === 'string') return JSON.stringify(text);
  return type === 'scalar' ? formOf(text) : '';
}

/** The ID of an event, with what its stream answers: a client resumes the stream by it. */
export function joinEventId({ ids, isBatch }: ExpectedResponses, id: string): string {
  const retained = isBatch ? [] : [...ids].filter((one) => one.length <= MAX_EXPECTED_ID);
  return JSON.stringify([...retained, id]);
}

/** An event ID issued by an earlier version holds the ID of the backend alone; its stream may carry no responses. */
export function splitEventId(text: string): { readonly id: string; readonly expected: ExpectedResponses } {
  const parts = readParts(text) ?? [text];
  return { id: parts.at(-1) ?? '', expected: { ids: new Set(parts.slice(0, -1)), isBatch: false } };
}

function readParts(text: string): readonly string[] | null {
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts) && parts.every((part) => typeof part === 'string') ? parts : null;
  } catch {
    return null;
  }
}

/** Members of an element that decide, or that users and models read. */
export const ELEMENT_MEMBERS: readonly string[] = [
  'name',
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
  'icons',
  'execution',
  '_meta',
  'uri',
  'uriTemplate',
];
/** The methods whose results are filtered, each with the member of its result that is the list. */
export const LISTS: ReadonlyMap<string, string> = new Map([
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
]);
/** The members of a result that are lists. */
export const LIST_NAMES: readonly string[] = [...LISTS.values()];
/** The member of a result that says who may share it. */
export const SCOPE = 'cacheScope';

/**
 * The name of a list, in bytes: as it is, in other case (also with the long s, U+017F), or escaped; or a zero byte, which other
 * encodings than UTF-8 have.
 */
const LIST_NAME = /(?:tool|prompt|re(?:s|\xc5\xbf)ource(?:template)?)(?:s|\xc5\xbf)"|\\u(?:00[4-7]|017f)|\0/i;

/** The scope of a cached result, written as lists may be. */
const SCOPE_NAME = /cache(?:s|\xc5\xbf)cope"|\\u(?:00[4-7]|017f)|\0/i;

/** Whether bytes of a response may say who may share it. */
export function mayHoldScope(bytes: Buffer): boolean {
  return SCOPE_NAME.test(bytes.toString('latin1'));
}

/** Whether bytes of a response may hold a list. */
export function mayHoldLists(bytes: Buffer): boolean {
  return LIST_NAME.test(bytes.toString('latin1'));
}

const shapeOfAll = (names: readonly string[], shape: JsonShape): JsonShape =>
  shapeOf(Object.fromEntries(names.map((name) => [name, shape])));
const withBatches = (message: JsonShape): JsonShape => ({ ...message, elements: message });
const listShape: JsonShape = { elements: shapeOfAll(ELEMENT_MEMBERS, {}) };
const messageShape = (result: JsonShape): JsonShape =>
  withBatches(shapeOf({ id: { text: true }, method: { text: true }, result, error: {} }));
const resultShape = (list: JsonShape): JsonShape =>
  shapeOf({ ...Object.fromEntries(LIST_NAMES.map((name) => [name, list])), [SCOPE]: { text: true } });
const responseShape = messageShape(resultShape(listShape));
const longShape = messageShape(resultShape({}));
const limits: ScanLimits = { depth: 256, text: 256 * 1024, elements: 100_000 };
/** No batch is longer. */
const longLimits: ScanLimits = { ...limits, elements: 1000 };

export const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

export function startsWithMark(bytes: Buffer): boolean {
  return BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte);
}

/**
 * Checks a document, or the data of an event: that all clients parse the same response and the same lists, and that it responds to a
 * request of this stream. Clients ignore a byte order mark.
 * @throws SyntaxError for responses in what is no JSON, no UTF-8, or has a member twice; and for a response to another request
 * @see RFC 8259 §4, §8.1
 */
export function checkResponses(bytes: Buffer, expected: ExpectedResponses, isStream: boolean): void {
  const isAnswer = !isStream && expected.ids.size > 0;
  if (!isAnswer && !mayHoldResponse(bytes) && !mayHoldLists(bytes)) return;
  const scanner = new JsonScanner(responseShape, limits);
  scanner.push(startsWithMark(bytes) ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes);
  const root = scanner.end();
  const messages = messagesIn(root);
  if (messages.some(({ type, variants }) => type !== 'object' || variants.size > 0))
    throw new SyntaxError('it is no message, or has a member in other case');
  if (!isStream) checkDocument(root, expected);
  for (const message of messages) checkResponse(message, expected, true);
}

/** A request is answered by one response, and a batch by one or several. */
function checkDocument(root: JsonNode | null, { ids, isBatch }: ExpectedResponses): void {
  if (ids.size === 0) return;
  if (root?.type === 'array' && !isBatch) throw new SyntaxError('it is a batch, and answers one request');
  if (!messagesIn(root).every((message) => answersOneOf(message, ids)))
    throw new SyntaxError('it is no response to the request');
}

function messagesIn(root: JsonNode | null): readonly JsonNode[] {
  if (root === null) return [];
  return root.type === 'array' ? root.elements : [root];
}

/**
 * Watches a message that is too long to be edited, piece by piece.
 * @param mayPass whether a message with this method may pass as it is
 * @returns call it before a piece is passed on; returns the scope of its result, once that is known. @throws SyntaxError once the
 * message has another method or a list, answers another request, and where that cannot be known
 */
export function createLongWatch(
  mayPass: (method: string) => boolean,
  expected: ExpectedResponses,
  isStream: boolean,
): (bytes: Buffer) => JsonNode | null {
  const scanner = new JsonScanner(longShape, longLimits);
  return (bytes) => {
    try {
      if (!scanner.isDone) scanner.push(bytes);
    } catch (error) {
      // Behind the message are other fields of its event.
      if (!scanner.isDone) throw error;
    }
    const messages = messagesIn(scanner.found);
    if (messages.some(holdsList)) throw new SyntaxError('it is too long, and holds a list');
    const method = messages
      .map(({ members }) => members.get('method')?.text)
      .find((text) => text !== undefined && !mayPass(text));
    if (method !== undefined) throw new SyntaxError('it is too long, and no result or notification');
    if (scanner.isDone && !isStream) checkDocument(scanner.found, expected);
    for (const message of messages) checkResponse(message, expected, scanner.isDone);
    return messages[0]?.members.get('result')?.members.get(SCOPE) ?? null;
  };
}

function holdsList({ members, variants }: JsonNode): boolean {
  const result = members.get('result');
  if (result === undefined) return variants.size > 0;
  return variants.size + result.variants.size > 0 || LIST_NAMES.some((name) => result.members.has(name));
}
