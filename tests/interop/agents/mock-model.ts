/** A language model for agent command lines that calls one tool and repeats its result, in the four API formats that agents speak. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface MockModel extends AsyncDisposable {
  readonly url: string;
  /** What the model received as the result of the tool. */
  readonly toolResults: readonly string[];
}

/** What the model does next: call a tool, or say a text. */
type Turn = { readonly tool: string; readonly namespace?: string } | { readonly text: string };

interface ApiFormat {
  readonly path: RegExp;
  /** Events of the response: each is one `data:` line, with its `event:` if it has a type. */
  respond(turn: Turn): readonly object[];
}

/** The result of a call before its agent is connected. */
const NOT_CONNECTED = /requires authentication/;

/**
 * Calls the tool whose name ends with `tool`, once per conversation.
 * @param connectsLate calls it again while the agent is not connected
 */
export async function startMockModel(tool: string, connectsLate: boolean): Promise<MockModel> {
  const toolResults: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const format = FORMATS.find(({ path }) => path.test(request.url ?? ''));
    if (format === undefined || request.method !== 'POST') {
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"error":{"message":"not found"}}');
      return;
    }
    stream(response, format.respond(nextTurn(body)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    toolResults,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };

  function nextTurn(body: string): Turn {
    const request = JSON.parse(body) as Readonly<Record<string, unknown>>;
    const result = readToolResult(request);
    if (result !== undefined && !(connectsLate && NOT_CONNECTED.test(result))) {
      toolResults.push(result);
      return { text: 'I called the tool.' };
    }
    const name = new RegExp(`"name":"([^"]*${tool})"`).exec(body)?.[1];
    if (name === undefined) return { text: 'There is no tool.' };
    const namespace = /"type":"namespace","name":"(mcp__\w+)"/.exec(body)?.[1];
    return { tool: name, ...(namespace !== undefined && { namespace }) };
  }
}

/** The last message of a conversation, if it carries a tool's result. */
function readToolResult(request: Readonly<Record<string, unknown>>): string | undefined {
  const conversation = (request['messages'] ?? request['input'] ?? request['contents']) as readonly object[];
  const last = conversation
    .toReversed()
    .map((message) => JSON.stringify(message))
    .find((text) => /"tool_result"|"function_call_output"|"role":"tool"|"functionResponse"/.test(text));
  return last;
}

function stream(response: ServerResponse, events: readonly object[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) {
    if ('type' in event) response.write(`event: ${event.type}\n`);
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };

const anthropicMessages: ApiFormat = {
  path: /\/v1\/messages(\?|$)/,
  respond(turn) {
    const tool = 'tool' in turn;
    return [
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'mock',
          content: [],
          stop_reason: null,
          usage,
        },
      },
      {
        type: 'content_block_start',
        index: 0,
        content_block: tool
          ? { type: 'tool_use', id: 'toolu_1', name: turn.tool, input: {} }
          : { type: 'text', text: '' },
      },
      {
        type: 'content_block_delta',
        index: 0,
        delta: tool
          ? { type: 'input_json_delta', partial_json: '{}' }
          : { type: 'text_delta', text: turn.text },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: tool ? 'tool_use' : 'end_turn' }, usage },
      { type: 'message_stop' },
    ];
  },
};

const openAiResponses: ApiFormat = {
  path: /\/responses(\?|$)/,
  respond(turn) {
    const item =
      'tool' in turn
        ? {
            type: 'function_call',
            id: 'fc_1',
            call_id: 'call_1',
            name: turn.tool,
            namespace: turn.namespace,
            arguments: '{}',
          }
        : {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            content: [{ type: 'output_text', text: turn.text, annotations: [] }],
          };
    return [
      { type: 'response.created', response: { id: 'resp_1' } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: 'resp_1', output: [item], usage } },
    ];
  },
};

const openAiChatCompletions: ApiFormat = {
  path: /\/chat\/completions(\?|$)/,
  respond(turn) {
    const tool = 'tool' in turn;
    const chunk = (delta: object, finish_reason: string | null) => ({
      id: 'chatcmpl_1',
      object: 'chat.completion.chunk',
      created: 0,
      model: 'mock',
      choices: [{ index: 0, delta, finish_reason }],
    });
    const call = (name: string) => ({
      role: 'assistant',
      tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: '{}' } }],
    });
    return [
      chunk(tool ? call(turn.tool) : { role: 'assistant', content: turn.text }, null),
      chunk({}, tool ? 'tool_calls' : 'stop'),
    ];
  },
};

const gemini: ApiFormat = {
  path: /:streamGenerateContent(\?|$)/,
  respond(turn) {
    const part = 'tool' in turn ? { functionCall: { name: turn.tool, args: {} } } : { text: turn.text };
    return [{ candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }] }];
  },
};

const FORMATS: readonly ApiFormat[] = [anthropicMessages, openAiResponses, openAiChatCompletions, gemini];
