/** Reads the operations of a JSON-RPC body, so that scopes can depend on them. */

/** One JSON-RPC request or notification. */
export interface McpOperation {
  /** `tools/call`, `resources/read`, … */
  readonly method: string;
  /** The tool that is called. */
  readonly tool: string | null;
  /** The prompt that is retrieved or completed. */
  readonly prompt: string | null;
  /** The URI of the resource that is read, subscribed to or completed. */
  readonly resource: string | null;
}

type Parameters = Readonly<Record<string, unknown>>;

/** What an operation applies to, with the member that holds it. */
type OperationTarget = readonly [member: 'tool' | 'prompt' | 'resource', name: unknown];

const resource = ({ uri }: Parameters): OperationTarget => ['resource', uri];

const TARGET_OF: Readonly<Record<string, (parameters: Parameters) => OperationTarget>> = {
  'tools/call': ({ name }) => ['tool', name],
  'prompts/get': ({ name }) => ['prompt', name],
  'resources/read': resource,
  'resources/subscribe': resource,
  'resources/unsubscribe': resource,
  'completion/complete': ({ ref }) => {
    const { type, name, uri } = membersOf(ref);
    return type === 'ref/prompt' ? ['prompt', name] : ['resource', uri];
  },
};

/**
 * Reads the operations of a parsed body, a message or a batch. Responses, and anything else without a method, are
 * skipped.
 */
export function readOperations(body: unknown): readonly McpOperation[] {
  const messages = Array.isArray(body) ? body : [body];
  return messages.flatMap((message) => {
    const { method, params } = membersOf(message);
    return typeof method === 'string' ? [readOperation(method, membersOf(params))] : [];
  });
}

function readOperation(method: string, params: Parameters): McpOperation {
  const operation = { method, tool: null, prompt: null, resource: null };
  const subject = Object.hasOwn(TARGET_OF, method) ? TARGET_OF[method] : undefined;
  if (subject === undefined) return operation;
  const [member, name] = subject(params);
  return typeof name === 'string' ? { ...operation, [member]: name } : operation;
}

function membersOf(value: unknown): Parameters {
  return typeof value === 'object' && value !== null ? (value as Parameters) : {};
}
