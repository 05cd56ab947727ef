/** The requests under way at one backend: it ends after the last of them. */
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface OpenRequests {
  add(incoming: IncomingMessage, outgoing: ServerResponse): void;
  /**
   * Ends the event streams that were opened by GET, whose clients open them again. Resolves when no request is left.
   * @param limit milliseconds after which it resolves nevertheless
   */
  drain(limit: number): Promise<void>;
}

export function createOpenRequests(): OpenRequests {
  const streams = new Set<ServerResponse>();
  const drained = Promise.withResolvers<void>();
  let count = 0;
  let isDraining = false;
  const resolveIfDrained = (): void => {
    if (isDraining && count === 0) drained.resolve();
  };
  return {
    add({ method }, outgoing) {
      if (outgoing.destroyed) return;
      count += 1;
      if (method === 'GET') streams.add(outgoing);
      outgoing.once('close', () => {
        count -= 1;
        streams.delete(outgoing);
        resolveIfDrained();
      });
      if (isDraining) endStream(method, outgoing);
    },
    drain(limit) {
      isDraining = true;
      for (const stream of streams) endStream('GET', stream);
      resolveIfDrained();
      const timer = setTimeout(drained.resolve, limit).unref();
      return drained.promise.finally(() => clearTimeout(timer));
    },
  };
}

function endStream(method: string | undefined, outgoing: ServerResponse): void {
  if (method !== 'GET') return;
  if (outgoing.headersSent) outgoing.end();
  else outgoing.destroy();
}
