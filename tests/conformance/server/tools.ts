/** The tools that the scenarios of the suite call by name: contents, notifications, and requests to the client within a session. */
import { setTimeout as wait } from 'node:timers/promises';
import {
  type CallToolResult,
  fromJsonSchema,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { DEFAULTS, ENUMERATIONS, JSON_SCHEMA_2020_12, PNG, WAV } from './fixtures.ts';

type Arguments = Readonly<Record<string, unknown>>;
type Content = CallToolResult['content'][number];

/** Milliseconds between notifications, so that they arrive apart from each other. */
const PAUSE = 50;

const text = (value: string): Content => ({ type: 'text', text: value });
const image: Content = { type: 'image', data: PNG, mimeType: 'image/png' };
const embedded = (uri: string, mimeType: string, value: string): Content => ({
  type: 'resource',
  resource: { uri, mimeType, text: value },
});

const contents: Readonly<Record<string, readonly Content[]>> = {
  test_simple_text: [text('This is a simple text response for testing.')],
  test_image_content: [image],
  test_audio_content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  test_embedded_resource: [
    embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ],
  test_multiple_content_types: [
    text('Multiple content types test:'),
    image,
    embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ],
  test_streaming_elicitation: [text('Only the result is sent.')],
};

/** Registers all of them. */
export function registerTools(server: McpServer): void {
  for (const [name, content] of Object.entries(contents)) {
    server.registerTool(name, { description: `Returns ${name}` }, async () => ({ content: [...content] }));
  }
  registerNotifyingTools(server);
  registerRequestingTools(server);
  const register = createRegister(server);
  register('test_error_handling', async () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  register('test_reconnection', async (_args, context) => {
    context.http?.closeSSE?.();
    await wait(2 * PAUSE);
    return 'The call went on while its stream was closed.';
  });
  register('test_x_mcp_header', async ({ region }) => `region=${region ?? 'none'}`, {
    type: 'object',
    properties: {
      region: { type: 'string', description: 'repeated in a header', 'x-mcp-header': 'Region' },
      level: { type: 'integer', description: 'in the body only' },
    },
  });
  register('json_schema_2020_12_tool', async (args) => JSON.stringify(args), JSON_SCHEMA_2020_12);
}

type Handler = (args: Arguments, context: ServerContext) => Promise<string>;
type Register = (name: string, handler: Handler, schema?: Readonly<Record<string, unknown>>) => void;

/** Registers tools whose result is one text. */
function createRegister(server: McpServer): Register {
  return (name, handler, schema = { type: 'object', properties: {} }) => {
    const inputSchema = fromJsonSchema<Arguments>(schema);
    server.registerTool(name, { description: `Tests ${name}`, inputSchema }, async (args, context) => ({
      content: [text(await handler(args, context))],
    }));
  };
}

function registerNotifyingTools(server: McpServer): void {
  const register = createRegister(server);
  register('test_tool_with_logging', async (_args, context) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await context.mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
      await wait(PAUSE);
    }
    return 'Tool with logging executed successfully';
  });
  register('test_tool_with_progress', async (_args, context) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    if (progressToken === undefined) return 'no progress token';
    for (const progress of [0, 50, 100]) {
      await context.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100, message: `Completed ${progress} of 100` },
      });
      await wait(PAUSE);
    }
    return String(progressToken);
  });
  register('test_logging_tool', async (_args, context) => {
    await context.mcpReq.log('info', 'logged only if the request asks for it');
    return 'logged';
  });
}

/** Tools that send a request to the client and wait for its response, as sessions allow. */
function registerRequestingTools(server: McpServer): void {
  const register = createRegister(server);
  const elicit = (message: string, properties: object, required: readonly string[] = []): Handler => {
    const requestedSchema = { type: 'object', properties, required };
    return async (args, context) => {
      const params = { message: String(args['message'] ?? message), requestedSchema };
      const answer = await context.mcpReq.send({ method: 'elicitation/create', params } as never);
      const { action, content = {} } = answer as { action?: string; content?: object };
      return `Elicitation completed: action=${action}, content=${JSON.stringify(content)}`;
    };
  };
  const withText = (name: string) => ({
    type: 'object',
    properties: { [name]: { type: 'string' } },
    required: [name],
  });
  register(
    'test_elicitation',
    elicit('', { response: { type: 'string', description: 'Any text' } }, ['response']),
    withText('message'),
  );
  register('test_elicitation_sep1034_defaults', elicit('Check these values', DEFAULTS));
  register('test_elicitation_sep1330_enums', elicit('Select some values', ENUMERATIONS));
  register(
    'test_sampling',
    async ({ prompt }, context) => {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: String(prompt) } }];
      const params = { messages, maxTokens: 100 };
      // Not `requestSampling`: it sends on the session's own stream, and is lost while the client has not opened that yet.
      const answer = await context.mcpReq.send({ method: 'sampling/createMessage', params } as never);
      const { content } = answer as { content?: { text?: string } };
      return `LLM response: ${content?.text ?? 'no text'}`;
    },
    withText('prompt'),
  );
}
