/** Readiness to receive requests: `/readyz`, and the draining phase before shutdown. */
import type { CoreStore } from '@portcullis/authorization-server/store';
import type { ServerHealth } from '@portcullis/gateway';
import { type HttpResponse, respondJson } from '@portcullis/http';
import { reasonOf } from '../errors.ts';
import type { Log } from './log.ts';

export type Readiness = ReturnType<typeof createReadiness>;

/** Milliseconds for which a write result is cached: frequent probes cost no commits. */
const WRITE_REUSED = 2_000;
/** Milliseconds after the last probe within which another is expected. */
const PROBES_EXPECTED = 60_000;

/** @param backends of the gateway: reported, without effect on readiness */
export function createReadiness(
  store: Pick<CoreStore, 'ping' | 'checkWritable'>,
  log: Log,
  backends: () => readonly ServerHealth[] = () => [],
) {
  const checkWrite = createCached(() => store.checkWritable(Math.floor(Date.now() / 1000)));
  let failure: string | null = null;
  let isDraining = false;
  let lastProbe = Number.NEGATIVE_INFINITY;

  function note(reason: string | null): void {
    if ((reason === null) !== (failure === null)) {
      log(reason === null ? { type: 'readiness.recovered' } : { type: 'readiness.failed', reason });
    }
    failure = reason;
  }

  async function findFailure(): Promise<string | null> {
    try {
      await store.ping();
      await checkWrite();
      return null;
    } catch (error) {
      return reasonOf(error);
    }
  }

  return {
    /** The response at `/readyz`: 200 if a write to the store works, else 503. */
    async respond(): Promise<HttpResponse> {
      lastProbe = performance.now();
      if (isDraining) return respondUnready('draining');
      const reason = await findFailure();
      note(reason);
      if (reason !== null) return respondUnready('unavailable');
      const shown = backends().map(({ server, status }) => [server, status]);
      return respondJson({ status: 'ok', ...(shown.length > 0 && { backends: Object.fromEntries(shown) }) });
    },
    /**
     * Marks the server unready. Resolves after `milliseconds`, in which load balancers notice; immediately if none has probed in
     * the last minute.
     */
    async drain(milliseconds: number): Promise<void> {
      isDraining = true;
      if (performance.now() - lastProbe > PROBES_EXPECTED) return;
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
    },
  };
}

function respondUnready(status: 'draining' | 'unavailable'): HttpResponse {
  return respondJson({ status }, { status: 503, headers: { 'retry-after': '5' } });
}

/** Single flight with a cache: callers share one result, from its start until it expires. */
function createCached(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | null = null;
  let settledAt = Number.POSITIVE_INFINITY;
  return () => {
    if (current === null || performance.now() - settledAt > WRITE_REUSED) {
      settledAt = Number.POSITIVE_INFINITY;
      current = work().finally(() => {
        settledAt = performance.now();
      });
    }
    return current;
  };
}
