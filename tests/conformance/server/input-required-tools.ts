/** Tools of the stateless transport, which return what they need from the client and are called again with it. @see SEP-2322 */
import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  fromJsonSchema,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';

type Outcome = CallToolResult | InputRequiredResult;
type Handler = (context: ServerContext['mcpReq']) => Outcome | Promise<Outcome>;

/** Signs the state that a client returns unchanged; one key for all servers of this process. */
export const requestStates: ReturnType<typeof createRequestStateCodec> = createRequestStateCodec({
  key: crypto.getRandomValues(new Uint8Array(32)),
});

const done = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

const ask = (message: string, member: string, type: 'string' | 'boolean' = 'string') => {
  const property = type === 'string' ? { type } : { type };
  return inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [member]: property }, required: [member] },
  });
};

const complete = (prompt: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
    maxTokens: 100,
  });

const NAME = 'What is your name?';

const handlers: Readonly<Record<string, Handler>> = {
  test_missing_capability: ({ inputResponses }) =>
    inputResponses?.['answer'] === undefined
      ? inputRequired({ inputRequests: { answer: complete('Reply with the word pong') } })
      : done('sampled'),
  test_input_required_result_elicitation: ({ inputResponses }) => {
    const name = acceptedContent<{ name: string }>(inputResponses, 'user_name')?.name;
    return typeof name === 'string'
      ? done(`Hello, ${name}!`)
      : inputRequired({ inputRequests: { user_name: ask(NAME, 'name') } });
  },
  test_input_required_result_sampling: ({ inputResponses }) => {
    const answer = inputResponses?.['capital_question'];
    return answer === undefined
      ? inputRequired({ inputRequests: { capital_question: complete('What is the capital of France?') } })
      : done(`Sampling response: ${JSON.stringify(answer)}`);
  },
  test_input_required_result_list_roots: ({ inputResponses }) => {
    const roots = rootsOf(inputResponses?.['client_roots']);
    return roots === null
      ? inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
      : done(`${roots.length} roots: ${JSON.stringify(roots)}`);
  },
  test_input_required_result_request_state: async ({ inputResponses, requestState }) => {
    if (acceptedContent(inputResponses, 'confirm') === undefined || requestState() === undefined) {
      return inputRequired({
        inputRequests: { confirm: ask('Please confirm', 'ok', 'boolean') },
        requestState: await requestStates.mint({ at: 'confirm' }),
      });
    }
    return done('state-ok: verified and confirmed');
  },
  test_input_required_result_multiple_inputs: async ({ inputResponses }) => {
    const name = acceptedContent<{ name: string }>(inputResponses, 'user_name')?.name;
    const roots = rootsOf(inputResponses?.['client_roots']);
    const greeting = inputResponses?.['greeting'];
    if (typeof name === 'string' && greeting !== undefined && roots !== null) {
      return done(`${JSON.stringify(greeting)} ${name}, ${roots.length} roots`);
    }
    const inputRequests = {
      user_name: ask(NAME, 'name'),
      greeting: complete('Write a greeting'),
      client_roots: inputRequired.listRoots(),
    };
    return inputRequired({ inputRequests, requestState: await requestStates.mint({ at: 'inputs' }) });
  },
  test_input_required_result_multi_round: async ({ inputResponses, requestState }) => {
    const { round = 0, name } = requestState<{ round?: number; name?: string }>() ?? {};
    if (round === 0) return nextRound(1, { step1: ask('Step 1: what is your name?', 'name') });
    if (round === 1) {
      const given = acceptedContent<{ name: string }>(inputResponses, 'step1')?.name ?? 'unknown';
      return nextRound(2, { step2: ask('Step 2: which colour do you like?', 'color') }, given);
    }
    const color = acceptedContent<{ color: string }>(inputResponses, 'step2')?.color;
    return done(`Both rounds are complete: ${name} likes ${color}`);
  },
  test_input_required_result_tampered_state: async ({ inputResponses, requestState }) => {
    const isConfirmed = acceptedContent(inputResponses, 'confirm') !== undefined;
    if (isConfirmed && requestState() !== undefined) return done('integrity-ok');
    return inputRequired({
      inputRequests: { confirm: ask('Please confirm', 'ok', 'boolean') },
      requestState: await requestStates.mint({ at: 'tampered' }),
    });
  },
  test_input_required_result_capabilities: (mcpReq) => {
    const { inputResponses } = mcpReq;
    const meta = mcpReq.envelope as Readonly<Record<string, ClientCapabilities>> | undefined;
    const declared = meta?.[CLIENT_CAPABILITIES_META_KEY];
    const inputRequests: InputRequests = {
      ...(declared?.elicitation && { user_name: ask(NAME, 'name') }),
      ...(declared?.sampling && { greeting: complete('Write a greeting') }),
      ...(declared?.roots && { client_roots: inputRequired.listRoots() }),
    };
    const isAsked = inputResponses === undefined && Object.keys(inputRequests).length > 0;
    return isAsked ? inputRequired({ inputRequests }) : done('Nothing more is needed.');
  },
};

async function nextRound(round: number, inputRequests: InputRequests, name?: string): Promise<Outcome> {
  return inputRequired({ inputRequests, requestState: await requestStates.mint({ round, name }) });
}

function rootsOf(response: unknown): readonly unknown[] | null {
  const { roots } = (response ?? {}) as { roots?: unknown };
  return Array.isArray(roots) ? roots : null;
}

/** Registers the tools, and the prompt that needs input as well. */
export function registerInputRequiredTools(server: McpServer): void {
  const inputSchema = fromJsonSchema<object>({ type: 'object', properties: {} });
  for (const [name, handler] of Object.entries(handlers)) {
    server.registerTool(name, { description: `Tests ${name}`, inputSchema }, async (_args, context) =>
      handler(context.mcpReq),
    );
  }
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Needs a context' },
    async (given) => {
      const { mcpReq } = given as unknown as ServerContext;
      const context = acceptedContent<{ context: string }>(mcpReq.inputResponses, 'user_context')?.context;
      if (typeof context !== 'string') {
        return inputRequired({ inputRequests: { user_context: ask('Which context?', 'context') } });
      }
      return {
        messages: [{ role: 'user', content: { type: 'text', text: `Use this context: ${context}` } }],
      };
    },
  );
}
