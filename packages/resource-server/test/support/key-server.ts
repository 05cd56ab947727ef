/** An issuer's key server that can be told to misbehave, on a real socket. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Manner = (response: ServerResponse) => void;

export interface KeyServer {
  readonly url: string;
  /** Requests so far, each as its path. */
  readonly asked: readonly string[];
  /** How the next requests are answered. */
  behave(manner: Manner): void;
  close(): Promise<void>;
}

export const answering =
  (document: unknown): Manner =>
  (response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
  };

export const failing =
  (status: number, body = '', headers: Readonly<Record<string, string>> = {}): Manner =>
  (response) => {
    response.writeHead(status, headers).end(body);
  };

/** Takes the connection away, as a server that has crashed. */
export const down: Manner = (response) => {
  response.socket?.destroy();
};

/** Never answers. */
export const silent: Manner = () => {};

export async function startKeyServer(manner: Manner): Promise<KeyServer> {
  let current = manner;
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    current(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    behave(next) {
      current = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
