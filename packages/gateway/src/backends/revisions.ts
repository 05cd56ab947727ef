/** Differences between the revisions with sessions and the stateless one, as data. */
import {
  errorCodes,
  errorResponse,
  isMembers,
  type JsonFields,
  type Message,
  type MessageId,
  parameter,
} from '@portcullis/http';
import { LISTS } from '../messages/check-responses.ts';
import { MessageError } from '../messages/message-error.ts';
import type { InitializeParams, InitializeResult } from './backend.ts';

/** The stateless revision. */
export const STATELESS = '2026-07-28';

/** The beginning of headers that repeat arguments in the stateless revision. */
export const PARAMETER_HEADER = 'mcp-param-';

/** The newest revision with sessions. */
export const LAST_WITH_SESSIONS = '2025-11-25';

/** Revisions with sessions that the message path serves. */
export const WITH_SESSIONS: ReadonlySet<string> = new Set([
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  LAST_WITH_SESSIONS,
]);

/** Clients of earlier revisions may fail on an event without data. @see MCP 2025-11-25, Streamable HTTP */
export const FIRST_WITH_PRIMED_STREAMS = '2025-11-25';

/** @see MCP 2025-06-18, key changes */
const LAST_WITH_BATCHES = '2025-03-26';

/** @throws MessageError for a batch in a revision that has none. @param id JSON text of the id of its first message */
export function refuseBatchIn(version: string, id: string | null): void {
  if (version > LAST_WITH_BATCHES)
    throw new MessageError('invalidRequest', `MCP ${version} has no batches: send one message.`, { id });
}

/** The gateway itself, as a client of backends. */
export const GATEWAY_CLIENT = { name: 'portcullis', version: '1' } as const;

/** The same as parameters of `initialize`, for sessions in which the backend is only tested. */
export const GATEWAY_INITIALIZE: InitializeParams = {
  protocolVersion: LAST_WITH_SESSIONS,
  capabilities: {},
  clientInfo: GATEWAY_CLIENT,
};

/** Keys of `_meta` in the stateless revision. */
export const metaKeys = {
  version: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  logLevel: 'io.modelcontextprotocol/logLevel',
} as const;

/** From the most detailed one. @see RFC 5424 §6.2.1 */
export const LOG_LEVELS: readonly unknown[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

/** The error for a log level that does not exist. @see MCP 2025-11-25 and 2026-07-28, logging, error handling */
export function unknownLogLevel(id: MessageId, level: unknown): Message {
  const text = `Unknown log level ${JSON.stringify(level)}: ${LOG_LEVELS.join(', ')} are known.`;
  return errorResponse(id, errorCodes.invalidParams, text);
}

/** Server requests that the stateless revision carries in results, each with the capability of a client that answers it. */
const INPUT = new Map<unknown, (capabilities: JsonFields, params: JsonFields) => boolean>([
  [
    'elicitation/create',
    ({ elicitation }, { mode }) =>
      isMembers(elicitation) && (mode === 'url' ? isMembers(elicitation['url']) : hasForms(elicitation)),
  ],
  [
    'sampling/createMessage',
    ({ sampling }, { tools }) => isMembers(sampling) && (tools === undefined || isMembers(sampling['tools'])),
  ],
  ['roots/list', ({ roots }) => isMembers(roots)],
]);

/** The first revision with elicitation has forms alone, and no names for modes. @see MCP 2025-11-25, elicitation, capabilities */
function hasForms({ form, url }: JsonFields): boolean {
  return isMembers(form) || url === undefined;
}

/** Whether a server request may be sent to a client. @see MCP 2026-07-28, multi round-trip requests: MUST NOT without the capability */
export function mayBeAsked(
  capabilities: JsonFields,
  { method, params }: { readonly method?: unknown; readonly params?: unknown },
): boolean {
  return INPUT.get(method)?.(capabilities, isMembers(params) ? params : {}) === true;
}

/** Requests whose results may request input. */
export const MAY_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Requests of the stateless revision that backends with sessions support as well. */
export const IN_BOTH: ReadonlySet<string> = new Set([...MAY_ASK, ...LISTS.keys(), 'completion/complete']);

/** Requests of the revisions with sessions only. */
export const REMOVED: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
]);

/** Notifications of the revisions with sessions only, about what a client of the stateless revision cannot know. */
export const REMOVED_NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/elicitation/complete',
  'notifications/tasks/status',
]);

/** The error for a removed request, and for tasks, which only an extension of the stateless revision has. */
export const notInStateless = (method: string): string => `Revision ${STATELESS} has no method ${method}.`;

/** Requests of the stateless revision only. */
export const ADDED: ReadonlySet<string> = new Set(['server/discover', 'subscriptions/listen']);

/** Requests whose results clients of the stateless revision cache. @see MCP 2026-07-28, caching */
export const CACHEABLE: ReadonlySet<string> = new Set([...LISTS.keys(), 'server/discover', 'resources/read']);

/** The changes of lists that a backend reports, as `subscriptions/listen` names them: `toolsListChanged`, … */
export function reportedLists(capabilities: JsonFields): JsonFields {
  const kinds = ['tools', 'prompts', 'resources'].filter((name) =>
    hasCapability(capabilities, name, 'listChanged'),
  );
  return Object.fromEntries(kinds.map((name) => [`${name}ListChanged`, true]));
}

/** Whether capabilities have a member that is `true`, such as `resources.subscribe`. */
export function hasCapability(capabilities: JsonFields, name: string, member: string): boolean {
  return isMembers(capabilities[name]) && capabilities[name][member] === true;
}

/** The client of a stateless request, as parameters of `initialize`. */
export function initializeParamsOf(message: Message): InitializeParams {
  const capabilities = parameter(message, '_meta', metaKeys.clientCapabilities);
  const clientInfo = parameter(message, '_meta', metaKeys.clientInfo);
  return {
    protocolVersion: LAST_WITH_SESSIONS,
    capabilities: isMembers(capabilities) ? capabilities : {},
    clientInfo: isMembers(clientInfo) ? clientInfo : { name: 'unknown', version: '0' },
  };
}

/**
 * The code of an error of a session. A capability may be missing at a stateless member of a merged server.
 * @see MCP 2026-07-28, base protocol, error codes: MUST NOT emit those of earlier revisions, nor others of the reserved range
 */
function statelessCode(code: unknown): unknown {
  if (code === errorCodes.resourceNotFound) return errorCodes.invalidParams;
  const isReserved = typeof code === 'number' && code <= errorCodes.headerMismatch && code >= -32_099;
  return isReserved && code !== errorCodes.missingClientCapability ? errorCodes.internal : code;
}

/** A response with a result of a session, in the form of the stateless revision. */
export function toStateless(response: Message, method: string, { serverInfo }: InitializeResult): Message {
  const { result, error } = response;
  if (isMembers(error)) return { ...response, error: { ...error, code: statelessCode(error['code']) } };
  if (!isMembers(result)) return response;
  const meta = isMembers(result['_meta']) ? result['_meta'] : {};
  const identified = serverInfo === undefined ? meta : { [metaKeys.serverInfo]: serverInfo, ...meta };
  const cache = CACHEABLE.has(method) ? { ttlMs: 0, ...result, cacheScope: 'private' } : result;
  return { ...response, result: { resultType: 'complete', ...cache, _meta: identified } };
}

/** A response of a stateless backend, in the form of the revisions with sessions. */
export function toSession(response: Message): Message {
  if (!isMembers(response.result)) return response;
  const { resultType: _, ...result } = response.result;
  return { ...response, result: withObjectSchemas(result) };
}

/** Before 2026-07-28, structured content is an object, and its schema that of one. */
function withObjectSchemas(result: JsonFields): JsonFields {
  if ('structuredContent' in result && !isMembers(result['structuredContent'])) {
    const { structuredContent: _, ...rest } = result;
    return rest;
  }
  if (!Array.isArray(result['tools'])) return result;
  return { ...result, tools: result['tools'].map(withObjectSchema) };
}

function withObjectSchema(tool: unknown): unknown {
  if (!isMembers(tool) || !isMembers(tool['outputSchema']) || tool['outputSchema']['type'] === 'object')
    return tool;
  const { outputSchema: _, ...rest } = tool;
  return rest;
}
