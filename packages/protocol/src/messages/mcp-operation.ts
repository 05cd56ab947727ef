/** Which tool, prompt or resource a JSON-RPC message of MCP applies to, by its method. */

/** What an operation applies to. */
interface OperationTarget {
  /** The tool that is called. */
  readonly tool: string | null;
  /** The prompt that is retrieved or completed. */
  readonly prompt: string | null;
  /** The URI of the resource that is read, subscribed to or completed. */
  readonly resource: string | null;
}

/** One JSON-RPC request or notification. */
export interface McpOperation extends OperationTarget {
  /** `tools/call`, `resources/read`, … */
  readonly method: string;
}

/** Methods around operations: a client calls them before it knows what it wants. */
export const AROUND_OPERATIONS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'notifications/initialized',
  'notifications/cancelled',
]);

/** The parameters of a message. Each method throws an error of its reader if the parameter is of another type or missing. */
export interface OperationParameters {
  has(name: string): boolean;
  text(name: string): string;
  object(name: string): OperationParameters;
  /** The error for a text that must be one of some values. */
  unexpected(name: string, expected: string): Error;
}

const NO_TARGET: OperationTarget = { tool: null, prompt: null, resource: null };

type ReadTarget = (parameters: OperationParameters) => Partial<OperationTarget>;

const readResource: ReadTarget = (parameters) => ({ resource: parameters.text('uri') });

/** Revision 2026-07-28 does not have these methods, and its servers say so whatever the parameters are. */
const readSubscribedResource: ReadTarget = (parameters) =>
  parameters.has('uri') ? readResource(parameters) : {};

const TARGETS: ReadonlyMap<string, ReadTarget> = new Map([
  ['tools/call', (parameters) => ({ tool: parameters.text('name') })],
  ['prompts/get', (parameters) => ({ prompt: parameters.text('name') })],
  ['resources/read', readResource],
  ['resources/subscribe', readSubscribedResource],
  ['resources/unsubscribe', readSubscribedResource],
  ['completion/complete', readReference],
]);

function readReference(parameters: OperationParameters): Partial<OperationTarget> {
  const reference = parameters.object('ref');
  const type = reference.text('type');
  if (type === 'ref/prompt') return { prompt: reference.text('name') };
  if (type === 'ref/resource') return { resource: reference.text('uri') };
  throw reference.unexpected('type', 'ref/prompt or ref/resource');
}

/**
 * Reads what an operation applies to.
 * @throws the error of `parameters` if a parameter that decides about it is missing or of another type: a server might convert it
 */
export function readOperationTarget(method: string, parameters: OperationParameters): OperationTarget {
  const read = TARGETS.get(method);
  return read === undefined ? NO_TARGET : { ...NO_TARGET, ...read(parameters) };
}
