/** The lists of MCP: which members of a result are definitions, and what operation each of them offers. */
import type { McpOperation } from '@portcullis/protocol';
import {
  answersOneOf,
  checkResponse,
  type ExpectedResponses,
  mayHoldResponse,
} from '../messages/expected-responses.ts';
import { fold, type JsonNode, type JsonShape, shapeOf } from '../messages/json-projection.ts';
import { JsonScanner, type ScanLimits } from '../messages/json-scanner.ts';

/** A list in a result, by the name of its member. */
interface ListedKind {
  /** The operation that an element offers; `null` for an element that is malformed. */
  readonly operation: (element: Readonly<Record<string, unknown>>) => McpOperation | null;
}

const operation = (method: string, member: 'tool' | 'prompt' | 'resource', name: unknown) =>
  typeof name === 'string' ? { method, tool: null, prompt: null, resource: null, [member]: name } : null;

const LISTS: Readonly<Record<string, ListedKind>> = {
  tools: { operation: ({ name }) => operation('tools/call', 'tool', name) },
  prompts: { operation: ({ name }) => operation('prompts/get', 'prompt', name) },
  resources: { operation: ({ uri }) => operation('resources/read', 'resource', uri) },
  resourceTemplates: { operation: ({ uriTemplate }) => operation('resources/read', 'resource', uriTemplate) },
};

const METHODS: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);

/** Whether the result of a method is filtered. */
export function isListMethod(method: string): boolean {
  return METHODS.has(method);
}

export type Element = Readonly<Record<string, unknown>>;

/** Members of an element that decide, or that users and models read. */
const ELEMENT_MEMBERS: readonly string[] = [
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
const LIST_NAMES = Object.keys(LISTS);

const foldedOf = (names: readonly string[]) => new Map(names.map((name) => [fold(name), name]));
const foldedMembers = foldedOf(ELEMENT_MEMBERS);
const foldedLists = foldedOf(LIST_NAMES);

/** The names in an object that clients that ignore case take for others. */
function variantsIn(value: object, folded: ReadonlyMap<string, string>): readonly string[] {
  return Object.keys(value).filter((name) => (folded.get(fold(name)) ?? name) !== name);
}

/**
 * Keeps the elements of all lists in a result that are wanted. Returns the same result if all are. What only clients that ignore case
 * take for a list, or for a member of an element, is not kept.
 * @throws SyntaxError for a list that is an object
 */
export function filterLists(
  result: unknown,
  isWanted: (operation: McpOperation, element: Element) => boolean,
): unknown {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return result;
  const changed: Record<string, unknown> = {};
  for (const name of variantsIn(result, foldedLists)) changed[name] = undefined;
  for (const [name, { operation: offered }] of Object.entries(LISTS)) {
    const elements: unknown = (result as Element)[name];
    if (!Array.isArray(elements)) {
      // A lenient client may read its members.
      if (typeof elements === 'object' && elements !== null) throw new SyntaxError(`its ${name} are no list`);
      continue;
    }
    const retained = elements.filter((element: unknown) => {
      if (typeof element !== 'object' || element === null) return false;
      const found = variantsIn(element, foldedMembers).length > 0 ? null : offered(element as Element);
      return found !== null && isWanted(found, element as Element);
    });
    if (retained.length < elements.length) changed[name] = retained;
  }
  return Object.keys(changed).length === 0 ? result : { ...result, ...changed };
}

/**
 * The name of a list, in bytes: as it is, in other case (also with the long s, U+017F), or escaped; or a zero byte, which other
 * encodings than UTF-8 have.
 */
const LIST_NAME = /(?:tool|prompt|re(?:s|\xc5\xbf)ource(?:template)?)(?:s|\xc5\xbf)"|\\u(?:00[4-7]|017f)|\0/i;

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
const responseShape = messageShape(shapeOfAll(LIST_NAMES, listShape));
const longShape = messageShape(shapeOfAll(LIST_NAMES, {}));
const limits: ScanLimits = { depth: 256, text: 256 * 1024, elements: 100_000 };
/** No batch is longer. */
const longLimits: ScanLimits = { ...limits, elements: 1000 };

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Checks a document, or the data of an event: that all clients read the same response and the same lists, and that it is one to a
 * request that it may answer. Clients ignore a byte order mark.
 * @throws SyntaxError for responses in what is no JSON, no UTF-8, or has a member twice; and for a response to another request
 * @see RFC 8259 §4, §8.1
 */
export function checkResponses(bytes: Buffer, expected: ExpectedResponses, isStream: boolean): void {
  const isAnswer = !isStream && expected.ids.size > 0;
  if (!isAnswer && !mayHoldResponse(bytes) && !mayHoldLists(bytes)) return;
  const scanner = new JsonScanner(responseShape, limits);
  scanner.push(bytes.subarray(bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0));
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
 * @returns call it before a piece is passed on; @throws SyntaxError once the message has another method or a list, answers another
 * request, and where that cannot be known
 */
export function createLongWatch(
  mayPass: (method: string) => boolean,
  expected: ExpectedResponses,
  isStream: boolean,
): (bytes: Buffer) => void {
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
  };
}

function holdsList({ members, variants }: JsonNode): boolean {
  const result = members.get('result');
  return variants.size > 0 || (result !== undefined && result.members.size + result.variants.size > 0);
}
