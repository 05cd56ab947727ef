/** A small scripted web server for tests: routes that answer as they are told, and a log of all that it was asked. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it came. */
export interface Asked {
  readonly method: string;
  /** Path with query, as sent. */
  readonly target: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly body: string;
  /** The body, read as a form. */
  readonly form: URLSearchParams;
}

/** An answer; JSON when `body` is no text. */
export interface Told {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
}

/** `null`: the connection is cut. */
type Route = (asked: Asked) => Told | null | Promise<Told | null>;

export interface Party {
  readonly origin: string;
  readonly log: Asked[];
  /** Answers `GET /path`, or any method where the name is a path alone. The last one that was told counts. */
  on(route: string, answer: Route | Told): void;
  /** What was asked of a path. */
  asked(path: string): readonly Asked[];
  close(): Promise<void>;
}

/** Starts one on a free port; it answers 404 to whatever it was not told. */
export async function startParty(host = '127.0.0.1'): Promise<Party> {
  const routes = new Map<string, Route>();
  const log: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const target = request.url ?? '/';
    const url = new URL(target, 'http://party.example');
    const body = Buffer.concat(chunks).toString();
    const headers = new Headers(
      Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      ),
    );
    const method = request.method ?? 'GET';
    const asked: Asked = {
      method,
      target,
      path: url.pathname,
      query: url.searchParams,
      headers,
      body,
      form: new URLSearchParams(body),
    };
    log.push(asked);
    const route = routes.get(`${method} ${url.pathname}`) ?? routes.get(url.pathname);
    const told = route === undefined ? { status: 404, body: { error: 'not found' } } : await route(asked);
    if (told === null) return void request.socket.destroy();
    const text = typeof told.body === 'string' ? told.body : JSON.stringify(told.body ?? null);
    const type = typeof told.body === 'string' ? 'text/html' : 'application/json';
    for (const [name, value] of Object.entries({ 'content-type': type, ...told.headers }))
      response.setHeader(name, value);
    response.writeHead(told.status ?? 200).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    origin: `http://${host}:${(server.address() as AddressInfo).port}`,
    log,
    on: (route, answer) => void routes.set(route, typeof answer === 'function' ? answer : () => answer),
    asked: (path) => log.filter((asked) => asked.path === path),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
