/** Clients of both transports, as plain requests. */
import type { TestGateway } from './gateway.ts';

type Json = Readonly<Record<string, unknown>>;

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'test', version: '1' },
  },
};

export interface SessionClient {
  readonly session: string;
  post(message: unknown, signal?: AbortSignal): Promise<Response>;
  /** The text of a tool's result, or its error. */
  call(name: string, input?: Json): Promise<string>;
}

/** Starts a session. */
export async function startSession(
  gateway: TestGateway,
  user: string | null,
  path = '/mcp',
  params: Json = {},
): Promise<SessionClient> {
  const message = { ...INITIALIZE, params: { ...INITIALIZE.params, ...params } };
  const response = await gateway.send(user, { path, message });
  const session = response.headers.get('mcp-session-id') ?? '';
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  const post: SessionClient['post'] = (body, signal) =>
    gateway.send(user, {
      path,
      message: body,
      headers: { 'mcp-session-id': session },
      ...(signal && { signal }),
    });
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return { session, post, call: async (name, input = {}) => textOf(await post(callOf(name, input))) };
}

let lastId = 0;

/** Opens the event stream of a stateless client. */
export const subscription = {
  message: { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: {} },
  headers: { 'mcp-method': 'subscriptions/listen' },
};

export function callOf(name: string, input: Json = {}, meta?: Json): Json {
  lastId += 1;
  return {
    jsonrpc: '2.0',
    id: lastId,
    method: 'tools/call',
    params: { name, arguments: input, ...(meta && { _meta: meta }) },
  };
}

/** The text of an event stream, up to what matches. */
export async function readUntil(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  pattern: RegExp,
): Promise<string> {
  for (let text = ''; ; ) {
    const { value, done } = await reader.read();
    text += new TextDecoder().decode(value);
    if (done || pattern.test(text)) return text;
  }
}

/** The last message of a response. */
export async function lastMessage(response: Response): Promise<Json> {
  const text = await response.text();
  const data = [...text.matchAll(/^data: (.*)$/gm)].at(-1)?.[1] ?? text;
  return JSON.parse(data) as Json;
}

export async function textOf(response: Response): Promise<string> {
  const message = (await lastMessage(response)) as {
    readonly result?: { readonly content: readonly { readonly text: string }[] };
    readonly error?: { readonly message: string };
  };
  return message.result?.content[0]?.text ?? `error: ${message.error?.message}`;
}

const META = 'io.modelcontextprotocol/';

/** A request of revision 2026-07-28. */
export async function sendStateless(
  gateway: TestGateway,
  user: string | null,
  method: string,
  params: Json = {},
  path = '/mcp',
  signal?: AbortSignal,
): Promise<Response> {
  const { _meta: meta, ...rest } = params as { readonly _meta?: Json };
  lastId += 1;
  const message = {
    jsonrpc: '2.0',
    id: lastId,
    method,
    params: {
      ...rest,
      _meta: {
        [`${META}protocolVersion`]: '2026-07-28',
        [`${META}clientInfo`]: { name: 'test', version: '1' },
        [`${META}clientCapabilities`]: { elicitation: {} },
        ...meta,
      },
    },
  };
  const name = params['name'] ?? params['uri'];
  const version = String(meta?.[`${META}protocolVersion`] ?? '2026-07-28');
  return gateway.send(user, {
    path,
    message,
    ...(signal && { signal }),
    headers: {
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
  });
}
