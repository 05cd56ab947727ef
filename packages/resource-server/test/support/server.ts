/** A protected server for tests behind any adapter: requests and responses. */
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type RequestListener,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Guard, Principal } from '../../src/index.ts';

/** A request to send. Headers listed twice are sent twice. */
export interface Sent {
  readonly method?: string;
  /** `/mcp` by default. */
  readonly path?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | readonly string[];
}

export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

/** What an application behind the guard receives. */
export interface Seen {
  readonly method: string;
  readonly body: string;
  readonly principal: Principal;
  /** The headers in every form in which the application could read them. */
  readonly fields: string;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the response stays open after the body, like an event stream. */
  readonly isOpen?: boolean;
}

export type Application = (seen: Seen) => Reply | Promise<Reply>;

export interface Started {
  send(sent: Sent): Promise<Received>;
  close(): Promise<void>;
}

/** How a protected server is started behind an adapter. */
export type Start = (guard: Guard, application: Application) => Promise<Started>;

export function received(status: number, headers: Headers, text: string): Received {
  const isJson = headers.get('content-type')?.startsWith('application/json') === true && text !== '';
  return { status, headers, text, json: isJson ? (JSON.parse(text) as Record<string, unknown>) : {} };
}

/** Listens on a free loopback port, and sends raw requests to it. */
export async function listen(listener: RequestListener): Promise<Started> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    send: (sent) => sendOver(port, sent),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function sendOver(
  port: number,
  { method = 'GET', path = '/mcp', headers = [], body }: Sent,
): Promise<Received> {
  const fields = new Map<string, string[]>();
  for (const [name, value] of headers) fields.set(name, [...(fields.get(name) ?? []), value]);
  const single = [...fields].map(([name, values]) => [name, values.length === 1 ? values[0] : values]);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, method, path, headers: Object.fromEntries(single) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve(
            received(response.statusCode ?? 0, headersOf(response.headers), Buffer.concat(chunks).toString()),
          ),
        );
      },
    );
    request.on('error', reject);
    void sendBody(request, body);
  });
}

/** Sends a list piece by piece, so that it arrives as several chunks. */
async function sendBody(request: ReturnType<typeof httpRequest>, body: Sent['body']): Promise<void> {
  if (typeof body === 'string') request.end(body);
  else {
    for (const piece of body ?? []) {
      request.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    request.end();
  }
}

function headersOf(fields: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    for (const single of Array.isArray(value) ? value : [value ?? '']) headers.append(name, single);
  }
  return headers;
}
