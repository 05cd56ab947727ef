/** Ends event streams of node:http with the token that authorized them. */
import type { ServerResponse } from 'node:http';
import type { Guard } from '../guard.ts';
import type { Principal } from '../principal.ts';
import { isEventStream, type StreamWatch, watchedMethod } from '../streams/stream-watch.ts';

/** Watches the response to an authorized request, in case it becomes an event stream. */
export type WatchResponse = (principal: Principal, response: ServerResponse) => void;

/** A response that was still open at the last sweep. */
interface OpenResponse {
  readonly principal: Principal;
  readonly response: ServerResponse;
}

/** Milliseconds after which an open stream is detected at the latest. */
const MAX_DELAY_MS = 1000;
/** New responses that trigger the next sweep, besides those that were found open. */
const SWEEP_SIZE = 32;

const watchers = new WeakMap<Guard, WatchResponse>();

/** The watcher of a guard's responses on all routes. `null`: streams may outlive their token. */
export function nodeStreamWatcher(guard: Guard): WatchResponse | null {
  if (guard.watchStream === null) return null;
  const attend = watchers.get(guard) ?? createResponseWatcher(guard.watchStream);
  watchers.set(guard, attend);
  return attend;
}

/**
 * Most responses end before anything else happens, so they are only looked at later, without listeners. Those that
 * have started by then are watched if they are event streams, and forgotten otherwise.
 */
function createResponseWatcher(watch: StreamWatch): WatchResponse {
  const open: OpenResponse[] = [];
  let nextSweepAt = SWEEP_SIZE;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const pause = Math.min(MAX_DELAY_MS, watch.every * 1000);

  /** Keeps responses that have not started. */
  function sweep(): void {
    let openCount = 0;
    for (const entry of open) {
      if (hasEnded(entry.response)) continue;
      if (entry.response.headersSent) watchIfStream(watch, entry);
      else {
        open[openCount] = entry;
        openCount += 1;
      }
    }
    open.length = openCount;
    // Each response is looked at twice on average, however many are open.
    nextSweepAt = 2 * openCount + SWEEP_SIZE;
  }

  function scheduleSweep(): void {
    timer = setTimeout(() => {
      timer = null;
      sweep();
      if (open.length > 0) scheduleSweep();
    }, pause);
    timer.unref?.();
  }

  return (principal, response) => {
    open.push({ principal, response });
    if (open.length >= nextSweepAt) sweep();
    if (timer === null) scheduleSweep();
  };
}

function watchIfStream(watch: StreamWatch, { principal, response }: OpenResponse): void {
  if (!isEventStream(contentTypeOf(response))) return;
  const { method = 'GET', headers } = response.req;
  const stop = watch(principal, watchedMethod(method, headers['mcp-method']), () => endStream(response));
  response.on('close', stop);
}

/** A response of HTTP/1 or HTTP/2. */
type AnyResponse = ServerResponse & { readonly stream?: { readonly destroyed: boolean } | null };

/** Whether the client has disconnected, or the response was sent as a whole. */
export function isClosed({ destroyed, stream }: AnyResponse): boolean {
  return destroyed || stream?.destroyed === true;
}

function hasEnded(response: ServerResponse): boolean {
  return response.writableEnded || isClosed(response);
}

/** Headers passed to `writeHead` directly are only found in the head that was sent. */
function contentTypeOf(response: ServerResponse & { readonly _header?: unknown }): unknown {
  const { _header: head } = response;
  const sent = typeof head === 'string' ? /\r\ncontent-type:([^\r]*)/i.exec(head)?.[1] : undefined;
  return sent ?? response.getHeader('content-type');
}

/** Ends the response as if the application had; later writes are discarded, as after a disconnect. */
function endStream(response: ServerResponse): void {
  response.on('error', () => {});
  response.end();
}
