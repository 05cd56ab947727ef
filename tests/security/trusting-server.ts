/** An MCP server that trusts every request: guessable session, event and task ids, belonging to all. It records what reaches it. */

/** One request that reached the server. */
interface Reached {
  readonly method: string;
  /** Whose credential it had; empty without one. */
  readonly user: string;
  readonly session: string | null;
  readonly lastEventId: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface TrustingServer {
  readonly reached: readonly Reached[];
  serve(request: Request, user: string): Promise<Response>;
}

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly uri?: string; readonly arguments?: unknown };
  readonly result?: unknown;
}

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: {
    tools: { listChanged: true },
    resources: { subscribe: true },
    logging: {},
    completions: {},
  },
  serverInfo: { name: 'trusting', version: '1' },
};

const TOOLS = ['whoami', 'ask', 'task', 'forbidden'].map((name) => ({
  name,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
}));

const STREAM = { 'content-type': 'text/event-stream' };

export function createTrustingServer(): TrustingServer {
  const reached: Reached[] = [];
  /** Which user opened a session. */
  const sessions = new Map<string, string>();
  /** Questions without an answer. */
  const questions = new Map<string, (answer: unknown) => void>();

  return {
    reached,
    async serve(request, user) {
      const body = await request.text();
      const session = request.headers.get('mcp-session-id');
      const lastEventId = request.headers.get('last-event-id');
      const headers = Object.fromEntries(request.headers);
      reached.push({ method: request.method, user, session, lastEventId, headers, body });
      if (session !== null && !sessions.has(session)) return new Response(null, { status: 404 });
      const owner = sessions.get(session ?? '') ?? user;
      if (request.method === 'GET')
        return new Response(`id: e1\ndata: ${note(`the stream of ${owner}`)}\n\n`, { headers: STREAM });
      if (request.method === 'DELETE') {
        sessions.delete(session ?? '');
        return new Response(null, { status: 204 });
      }
      const written: unknown = JSON.parse(body);
      const messages = (Array.isArray(written) ? written : [written]) as Message[];
      for (const message of messages)
        if (message.id === undefined || message.method === undefined) hear(message);
      const [asked] = messages.filter(({ id, method }) => id !== undefined && method !== undefined);
      return asked === undefined ? new Response(null, { status: 202 }) : answer(asked, owner, user);
    },
  };

  function hear({ id, result }: Message): void {
    questions.get(String(id))?.(result);
  }

  async function answer(
    { id, method, params = {} }: Message,
    owner: string,
    user: string,
  ): Promise<Response> {
    const respond = (result: unknown, headers: Readonly<Record<string, string>> = {}) =>
      Response.json({ jsonrpc: '2.0', id, result }, { headers });
    if (method === 'initialize') {
      const session = `s${sessions.size + 1}`;
      sessions.set(session, user);
      return respond(INITIALIZED, { 'mcp-session-id': session });
    }
    if (method === 'tools/list') return respond({ tools: TOOLS });
    if (method === 'tasks/get')
      return respond({ taskId: 't1', status: 'working', statusMessage: `of ${owner}` });
    if (method === 'resources/read') return respond({ contents: [{ uri: params.uri, text: `of ${owner}` }] });
    if (method !== 'tools/call') return respond({});
    if (params.name === 'task') return respond({ task: { taskId: 't1', status: 'working' } });
    if (params.name === 'ask') return ask(id);
    return respond({ content: [{ type: 'text', text: user }] });
  }

  /** Answers with what the user says. */
  function ask(id: Message['id']): Response {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const send = (message: unknown) =>
      writer.write(new TextEncoder().encode(`data: ${JSON.stringify(message)}\n\n`)).catch(() => undefined);
    void send({
      jsonrpc: '2.0',
      id: 'q1',
      method: 'elicitation/create',
      params: { message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
    });
    questions.set('q1', (said) => {
      const content = [{ type: 'text', text: JSON.stringify(said) }];
      void send({ jsonrpc: '2.0', id, result: { content } })
        .then(() => writer.close())
        .catch(() => undefined);
    });
    return new Response(readable, { headers: STREAM });
  }
}

function note(data: string): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });
}
