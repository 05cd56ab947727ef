/** Lends all tests of a run one PostgreSQL, started when the first test asks for it, ended with the run. */
import { createServer } from 'node:http';
import { SHARED_POSTGRES, startServer } from './postgres.ts';

export async function setup(): Promise<() => Promise<void>> {
  let postgres: ReturnType<typeof startServer> | undefined;
  const lender = createServer((_request, response) => {
    postgres ??= startServer();
    postgres.then(
      (server) => response.end(server.url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => lender.listen(0, '127.0.0.1', resolve));
  const address = lender.address();
  if (address === null || typeof address === 'string') throw new Error('the lender has no address');
  process.env[SHARED_POSTGRES] = `http://127.0.0.1:${address.port}`;

  return async () => {
    lender.close();
    lender.closeAllConnections();
    await postgres?.then(
      (server) => server.stop(),
      () => {},
    );
  };
}
