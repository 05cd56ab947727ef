/** A backend on loopback that records what reaches it, and responds as the test says. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface TestBackend {
  readonly url: string;
  readonly received: readonly Received[];
  /** Requests whose connection the other side closed before the response ended. */
  readonly aborted: () => number;
  close(): Promise<void>;
}

type Respond = (
  received: Received,
  response: ServerResponse,
  request: IncomingMessage,
) => void | Promise<void>;

export async function startBackend(respond: Respond, port = 0): Promise<TestBackend> {
  const received: Received[] = [];
  let aborted = 0;
  const server = createServer(async (request, response) => {
    response.on('close', () => {
      if (!response.writableEnded) aborted += 1;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const one = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    };
    received.push(one);
    await respond(one, response, request);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    received,
    aborted: () => aborted,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function json(
  response: ServerResponse,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body);
  response
    .writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      ...headers,
    })
    .end(text);
}

/** Answers every JSON-RPC request with an empty result. */
export const answerAll: Respond = ({ body }, response) => {
  const written: unknown = JSON.parse(body || '{}');
  const responseTo = (message: unknown) => ({ jsonrpc: '2.0', id: Object(message).id ?? null, result: {} });
  json(response, Array.isArray(written) ? written.map(responseTo) : responseTo(written));
};
