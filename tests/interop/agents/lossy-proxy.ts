/** A proxy in front of a server that can lose the response to a refresh, after the server has committed it. */
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface LossyProxy extends AsyncDisposable {
  /** Loses the response to the next refresh; resolves when the server has sent it. */
  loseNextRefresh(): Promise<void>;
}

export async function startLossyProxy(port: number, target: number): Promise<LossyProxy> {
  let lost: (() => void) | undefined;
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming);
    const { method, url, headers } = incoming;
    const forwarded = send(
      { host: '127.0.0.1', port: target, method, path: url, headers },
      async (response) => {
        if (lost !== undefined && String(body).includes('grant_type=refresh_token')) {
          await buffer(response);
          outgoing.destroy();
          lost();
          lost = undefined;
          return;
        }
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      },
    );
    outgoing.once('close', () => forwarded.destroy());
    forwarded.on('error', () => outgoing.destroy());
    forwarded.end(body);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    loseNextRefresh: () =>
      new Promise((resolve) => {
        lost = resolve;
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
