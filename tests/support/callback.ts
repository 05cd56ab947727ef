/** A client's redirect URI on this computer, for tests in which a browser really goes there. */
import { createServer } from 'node:http';

export interface Callback {
  readonly url: string;
  close(): void;
}

export async function openCallback(): Promise<Callback> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<title>Done</title><p>You can go back to the app.</p>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the callback has no address');
  return {
    url: `http://127.0.0.1:${address.port}/callback`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
