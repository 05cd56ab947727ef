/** The connections to one address of a backend, which are opened with the first request. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createBackendPool } from '../src/addresses/backend-pool.ts';
import { limitsSchema } from '../src/servers/options.ts';

it('a request that came before the pool was closed is finished, also while the connections are still loaded', async () => {
  const server = createServer((_request, response) => response.end('x'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const pool = createBackendPool(new URL(`http://127.0.0.1:${port}/`), {
    ...limitsSchema().parse({}),
    callsPerMinute: null,
  });
  const ended = Promise.withResolvers<string>();
  pool.dispatch(
    { path: '/', method: 'GET' },
    {
      onRequestStart: () => {},
      onResponseStart: () => {},
      onResponseData: () => {},
      onResponseEnd: () => ended.resolve('finished'),
      onResponseError: (_controller, error) => ended.resolve(error.message),
    },
  );
  await pool.close();
  expect(await ended.promise).toBe('finished');
  await new Promise((resolve) => server.close(resolve));
});
