/** Connections to one address of a backend. */
import type { Dispatcher, Pool } from 'undici';
import { MAX_RESPONSE_HEADER } from '../limits.ts';
import type { GatewayServer } from '../servers/server.ts';
import { withoutContinue } from './connector.ts';

export type BackendPool = ReturnType<typeof createBackendPool>;

/** Loads undici with the first request: it costs a cold start 65 milliseconds. */
export function createBackendPool({ origin }: URL, limits: GatewayServer['limits']) {
  let pool: Pool | null = null;
  let opening: Promise<Pool> | null = null;
  let isClosed = false;
  return {
    dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
      // Without a promise for each request.
      if (pool !== null) pool.dispatch(options, handler);
      else void opened().then((ready) => ready.dispatch(options, handler));
    },
    /** Lets requests finish. */
    async close(): Promise<void> {
      isClosed = true;
      await (await opening)?.close();
    },
    async destroy(): Promise<void> {
      isClosed = true;
      await (await opening)?.destroy();
    },
  };

  function opened(): Promise<Pool> {
    opening ??= open();
    return opening;
  }

  async function open(): Promise<Pool> {
    // One that is closed meanwhile is closed after the requests that wait for it.
    const wasClosed = isClosed;
    const { buildConnector, Pool } = await import('undici');
    pool = new Pool(origin, {
      connections: null,
      pipelining: 1,
      headersTimeout: limits.firstByte * 1000,
      bodyTimeout: limits.idle * 1000,
      connect: withoutContinue(buildConnector({ timeout: limits.connect * 1000 })),
      maxHeaderSize: MAX_RESPONSE_HEADER,
    });
    if (wasClosed) await pool.close();
    return pool;
  }
}
