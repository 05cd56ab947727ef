/** Reads the scanned parts of a JSON-RPC message. */
import { type OperationParameters, readOperationTarget } from '@portcullis/protocol';
import { createContainer, type JsonNode, type JsonShape, shapeOf } from './json-projection.ts';
import { MessageError } from './message-error.ts';
import type { ByteRange, ScannedBody, ScannedMessage, ScannedText } from './scanned-message.ts';

const text: JsonShape = { text: true };

/** Marks the messages of stateless revisions. */
const VERSION = 'io.modelcontextprotocol/protocolVersion';
/** What the client of such a message can do. */
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
/** Names the task that a message belongs to. @see MCP 2025-11-25, utilities/tasks, related-task metadata */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

const relatedTask = { [RELATED_TASK]: shapeOf({ taskId: text }) };

/** What decides about a message, wherever it is written. */
export const messageShape: JsonShape = shapeOf({
  jsonrpc: text,
  id: text,
  method: text,
  params: {
    ...text,
    ...shapeOf({
      name: text,
      uri: text,
      ref: shapeOf({ type: text, name: text, uri: text }),
      task: {},
      taskId: text,
      requestState: text,
      arguments: {},
      notifications: shapeOf({
        resourceSubscriptions: { elements: text },
        toolsListChanged: text,
        promptsListChanged: text,
        resourcesListChanged: text,
      }),
      _meta: shapeOf({
        [VERSION]: text,
        [CAPABILITIES]: {},
        traceparent: text,
        tracestate: text,
        ...relatedTask,
      }),
    }),
  },
  result: shapeOf({ _meta: shapeOf(relatedTask) }),
  error: {},
});

/** @throws MessageError for anything that is no message, or that parsers could understand in different ways */
export function readScannedMessage(node: JsonNode): ScannedMessage {
  if (node.type !== 'object') throw invalid('A message must be an object.');
  const id = readId(node);
  rejectVariants(node, id);
  if (node.members.get('jsonrpc')?.text !== '2.0' || node.members.get('jsonrpc')?.type !== 'string')
    throw invalid('A message must have "jsonrpc": "2.0".', id);
  const isResponse = node.members.has('result') !== node.members.has('error');
  const method = node.members.get('method');
  if (method === undefined ? !isResponse : node.members.has('result') || node.members.has('error'))
    throw invalid('A message must have either a method, a result or an error.', id);
  return method === undefined ? readResponse(node, id) : readCall(node, method, id);
}

/** What a message asks for whose end has not arrived; `null` as long as that is not known, and for what will be refused. */
export function readOpenMessage(node: JsonNode): ScannedMessage | null {
  const { members } = node;
  const method = members.get('method');
  try {
    if (method !== undefined) return readCall(node, method, readId(node));
    return members.has('result') || members.has('error') ? readResponse(node, readId(node)) : null;
  } catch (error) {
    if (error instanceof MessageError) return null;
    throw error;
  }
}

/** Whether sealed IDs have to be opened in a body. */
export function holdsHandles({ messages }: ScannedBody): boolean {
  return messages.some(
    ({ task, requestState, relatedTask, serverRequest }) =>
      (task ?? requestState ?? relatedTask ?? serverRequest) !== null,
  );
}

/** A message that names WITHOUT_TARGET. */
export const WITHOUT_TARGET = {
  tool: null,
  prompt: null,
  resource: null,
  subscriptions: [],
  arguments: null,
  task: null,
  asksForTask: false,
  relatedTask: null,
  requestState: null,
  serverRequest: null,
  traceparent: null,
  tracestate: null,
  metaAt: null,
  paramsAt: null,
  protocolVersion: null,
  hasCapabilities: false,
} as const;

function readResponse(node: JsonNode, id: string | null): ScannedMessage {
  const relatedTask = readRelatedTask(node.members.get('result'), id);
  return {
    ...WITHOUT_TARGET,
    kind: 'response',
    id,
    at: node.start,
    method: '',
    relatedTask,
    serverRequest: readServerRequest(node, id),
  };
}

function readServerRequest({ members }: JsonNode, id: string | null): ScannedText | null {
  const node = members.get('id');
  const range = rangeOf(node);
  return id === null || node === undefined || range === null ? null : { value: node.text, range };
}

function readCall(node: JsonNode, method: JsonNode, id: string | null): ScannedMessage {
  if (method.type !== 'string' || method.text === '')
    throw invalid('The method must be the name of one.', id);
  const kind = node.members.has('id') ? 'request' : 'notification';
  if (kind === 'request' && id === null) throw invalid('The id of a request must not be null.');
  const params = readParameters(node, id);
  const found = params ?? NO_PARAMETERS;
  if (found.variants.size > 0) for (const name of OF_EVERY_METHOD) rejectVariant(found, name, id);
  const meta = found.members.get('_meta');
  // Many servers drop a message that they cannot read, and never respond.
  if (meta !== undefined && meta.type !== 'object') throw invalidParameter('_meta', 'an object', id);
  const { tool, prompt, resource } = readOperationTarget(method.text, parametersOf(found, id));
  const { traceparent, tracestate, metaAt } = readTrace(params);
  // Without spreads, which cost as much as the rest.
  return {
    kind,
    id,
    method: method.text,
    at: node.start,
    tool,
    prompt,
    resource,
    subscriptions:
      method.text === 'subscriptions/listen' ? readSubscriptions(found, id) : WITHOUT_TARGET.subscriptions,
    arguments: rangeOf(found.members.get('arguments')),
    task: readHandle(found, 'taskId', id),
    asksForTask: found.members.has('task'),
    relatedTask: readRelatedTask(found, id),
    requestState: readHandle(found, 'requestState', id),
    serverRequest: null,
    traceparent,
    tracestate,
    metaAt,
    paramsAt: node.members.get('params')?.start ?? null,
    protocolVersion: readVersion(found, id),
    hasCapabilities: found.members.get('_meta')?.members.get(CAPABILITIES)?.type === 'object',
  };
}

/** Parameters that are read whatever the method is: a backend may execute `Arguments`, while rules read `arguments`. */
const OF_EVERY_METHOD = ['arguments', 'task', 'taskId', 'requestState', '_meta'];

const NO_PARAMETERS: JsonNode = createContainer('object', 0);

/** JSON-RPC also knows parameters by position; MCP does not. Some clients write `null` for none. */
function readParameters(node: JsonNode, id: string | null): JsonNode | null {
  const params = node.members.get('params');
  if (params?.type === 'scalar' && params.text === 'null') return null;
  if (params === undefined || params.type === 'object') return params ?? null;
  throw new MessageError('invalidParams', 'The parameters must be an object.', { id });
}

function readId({ members }: JsonNode): string | null {
  const id = members.get('id');
  if (id === undefined || id.text === 'null') return null;
  if (id.type === 'string') return JSON.stringify(id.text);
  if (id.type !== 'scalar' || id.text === 'true' || id.text === 'false')
    throw invalid('The id must be a string or a number.');
  return id.text;
}

function readText(params: JsonNode, name: string, id: string | null): string {
  rejectVariant(params, name, id);
  const value = params.members.get(name);
  if (value?.type !== 'string') throw invalidParameter(name, 'a string', id);
  return value.text;
}

/** The parameters as the table of operations reads them. */
function parametersOf(params: JsonNode, id: string | null): OperationParameters {
  return {
    has(name) {
      rejectVariant(params, name, id);
      return params.members.has(name);
    },
    text: (name) => readText(params, name, id),
    object(name) {
      rejectVariant(params, name, id);
      const value = params.members.get(name);
      if (value?.type !== 'object') throw invalidParameter(name, 'an object', id);
      return parametersOf(value, id);
    },
    unexpected: (name, expected) => invalidParameter(name, expected, id),
  };
}

function readSubscriptions(params: JsonNode, id: string | null): readonly string[] {
  rejectVariant(params, 'notifications', id);
  const filter = params.members.get('notifications');
  if (filter === undefined) return [];
  if (filter.type !== 'object') throw invalidParameter('notifications', 'an object', id);
  for (const name of ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged']) {
    const list = filter.members.get(name);
    if (list !== undefined && (list.type !== 'scalar' || !/^(?:true|false)$/.test(list.text)))
      throw invalidParameter(name, 'true or false', id);
  }
  rejectVariant(filter, 'resourceSubscriptions', id);
  const uris = filter.members.get('resourceSubscriptions');
  if (uris === undefined) return [];
  if (uris.type !== 'array' || uris.elements.some(({ type }) => type !== 'string'))
    throw invalidParameter('resourceSubscriptions', 'a list of URIs', id);
  return uris.elements.map((uri) => uri.text);
}

/** A handle that is no string was not issued here. */
function readHandle(params: JsonNode, name: string, id: string | null): ScannedText | null {
  const value = params.members.get(name);
  if (value === undefined) return null;
  return { value: readText(params, name, id), range: { start: value.start, end: value.end } };
}

/** A related task without a string `taskId` is ignored. */
function readRelatedTask(holder: JsonNode | undefined, id: string | null): ScannedText | null {
  const meta = holder?.members.get('_meta');
  const related = meta?.members.get(RELATED_TASK);
  if (holder !== undefined) rejectVariant(holder, '_meta', id);
  if (meta !== undefined) rejectVariant(meta, RELATED_TASK, id);
  if (related !== undefined) rejectVariant(related, 'taskId', id);
  return related?.members.get('taskId')?.type === 'string' ? readHandle(related, 'taskId', id) : null;
}

/** An invalid trace context is ignored: it is never a reason to reject the message. */
function readTrace(params: JsonNode | null): Pick<ScannedMessage, 'traceparent' | 'tracestate' | 'metaAt'> {
  const meta = params?.members.get('_meta');
  return {
    metaAt: meta?.start ?? null,
    traceparent: readAnyText(meta?.members.get('traceparent')),
    tracestate: readAnyText(meta?.members.get('tracestate')),
  };
}

function readAnyText(node: JsonNode | undefined): ScannedText | null {
  const range = rangeOf(node);
  if (node === undefined || range === null || range.end === -1) return null;
  return { value: node.type === 'string' ? node.text : '', range };
}

function readVersion(params: JsonNode, id: string | null): string | null {
  const meta = params.members.get('_meta');
  if (meta?.type !== 'object') return null;
  rejectVariant(meta, VERSION, id);
  return meta.members.has(VERSION) ? readText(meta, VERSION, id) : null;
}

function rejectVariants(node: JsonNode, id: string | null): void {
  for (const name of node.variants) rejectVariant(node, name, id);
}

/** Parsers that ignore case take the variant for the member. */
function rejectVariant({ variants }: JsonNode, name: string, id: string | null): void {
  if (variants.has(name)) throw invalid(`The member ${name} is written in other case.`, id);
}

function rangeOf(node: JsonNode | undefined): ByteRange | null {
  return node === undefined ? null : { start: node.start, end: node.end };
}

function invalid(message: string, id: string | null = null): MessageError {
  return new MessageError('invalidRequest', message, { id });
}

function invalidParameter(name: string, expected: string, id: string | null): MessageError {
  return new MessageError('invalidParams', `The parameter ${name} must be ${expected}.`, { id });
}
