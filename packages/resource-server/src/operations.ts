/** What a request asks the protected server to do, read from its JSON-RPC body. */

/** One message of a body. */
export interface Operation {
  /** `tools/call`, `resources/read`, … */
  readonly method: string;
  /** The tool that is called. */
  readonly tool: string | null;
  /** The prompt that is asked for. */
  readonly prompt: string | null;
  /** The URI of the resource that is read or watched. */
  readonly resource: string | null;
}

/** Which parameter of a method names what it is about. */
const SUBJECT_OF: Readonly<
  Record<string, readonly [member: 'tool' | 'prompt' | 'resource', parameter: string]>
> = {
  'tools/call': ['tool', 'name'],
  'prompts/get': ['prompt', 'name'],
  'resources/read': ['resource', 'uri'],
  'resources/subscribe': ['resource', 'uri'],
  'resources/unsubscribe': ['resource', 'uri'],
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

function readOperation(method: string, params: Readonly<Record<string, unknown>>): Operation {
  const operation = { method, tool: null, prompt: null, resource: null };
  const subject = Object.hasOwn(SUBJECT_OF, method) ? SUBJECT_OF[method] : undefined;
  if (subject === undefined) return operation;
  const [member, parameter] = subject;
  const name = params[parameter];
  return typeof name === 'string' ? { ...operation, [member]: name } : operation;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
