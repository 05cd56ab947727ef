/** What a request asks the protected server to do, read from its JSON-RPC body. */

/** One message of a body. */
export interface Operation {
  /** `tools/call`, `resources/read`, … */
  readonly method: string;
  /** The tool that is called. */
  readonly tool: string | null;
  /** The prompt that is asked for, or completed. */
  readonly prompt: string | null;
  /** The URI of the resource that is read, watched or completed. */
  readonly resource: string | null;
}

type Parameters = Readonly<Record<string, unknown>>;

/** What an operation is about: one member, as the parameters name it. */
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
 * The operations of a parsed body: one message, or a batch. Responses and anything else that names no method are none.
 */
export function readOperations(body: unknown): readonly Operation[] {
  const messages = Array.isArray(body) ? body : [body];
  return messages.flatMap((message) => {
    const { method, params } = membersOf(message);
    return typeof method === 'string' ? [readOperation(method, membersOf(params))] : [];
  });
}

function readOperation(method: string, params: Parameters): Operation {
  const operation = { method, tool: null, prompt: null, resource: null };
  const subject = Object.hasOwn(TARGET_OF, method) ? TARGET_OF[method] : undefined;
  if (subject === undefined) return operation;
  const [member, name] = subject(params);
  return typeof name === 'string' ? { ...operation, [member]: name } : operation;
}

function membersOf(value: unknown): Parameters {
  return typeof value === 'object' && value !== null ? (value as Parameters) : {};
}
