/** Connections to one address of a backend. */
import type { Dispatcher, Pool } from 'undici';
import { MAX_RESPONSE_HEADER } from '../limits.ts';
import type { GatewayServer } from '../servers/server.ts';
import { withoutContinue } from './connector.ts';

export type BackendPool = ReturnType<typeof createBackendPool>;

interface Pools {
  readonly calls: Pool;
  /** For responses that stay open: a pool searches its connections in order, so these would slow down each call. */
  readonly streams: Pool;
}

/** Loads undici with the first request: it costs a cold start 65 milliseconds. */
export function createBackendPool({ origin }: URL, limits: GatewayServer['limits']) {
  let pools: Pools | null = null;
  let opening: Promise<Pools> | null = null;
  let isClosed = false;
  return {
    dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
      // Without a promise for each request.
      if (pools !== null) pools.calls.dispatch(options, handler);
      else void opened().then(({ calls }) => calls.dispatch(options, handler));
    },
    /** Dispatches a request whose response stays open, without a timeout of its body. */
    openStream(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
      void opened().then(({ streams }) => streams.dispatch({ ...options, bodyTimeout: 0 }, handler));
    },
    /** Lets requests finish. */
    async close(): Promise<void> {
      isClosed = true;
      await closeAll(await opening);
    },
    async destroy(): Promise<void> {
      isClosed = true;
      const open = await opening;
      await Promise.all([open?.calls.destroy(), open?.streams.destroy()]);
    },
  };

  function opened(): Promise<Pools> {
    opening ??= open();
    return opening;
  }

  async function open(): Promise<Pools> {
    // One that is closed meanwhile is closed after the requests that wait for it.
    const wasClosed = isClosed;
    const { buildConnector, Pool } = await import('undici');
    const options = {
      connections: null,
      pipelining: 1,
      headersTimeout: limits.firstByte * 1000,
      bodyTimeout: limits.idle * 1000,
      connect: withoutContinue(buildConnector({ timeout: limits.connect * 1000 })),
      maxHeaderSize: MAX_RESPONSE_HEADER,
    };
    pools = { calls: new Pool(origin, options), streams: new Pool(origin, options) };
    if (wasClosed) await closeAll(pools);
    return pools;
  }
}

async function closeAll(pools: Pools | null): Promise<void> {
  await Promise.all([pools?.calls.close(), pools?.streams.close()]);
}
