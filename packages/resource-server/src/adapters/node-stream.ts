/** Event streams of node:http that end with the token that admitted them. */
import type { ServerResponse } from 'node:http';
import type { Guard } from '../guard.ts';
import type { Principal } from '../principal.ts';
import { isEventStream, type StreamWatch } from '../streams/stream-watch.ts';

/** Has an answer watched over that goes to an admitted request, should it turn out to be an event stream. */
export type WatchResponse = (principal: Principal, response: ServerResponse) => void;

/** An admitted answer that was still open when it was last looked at. */
interface OpenResponse {
  readonly principal: Principal;
  readonly response: ServerResponse;
}

/** Milliseconds for which a stream may be open before it is noticed, at most. */
const MAX_DELAY_MS = 1000;
/** Answers that come before they are looked at, beside those that were found open. */
const SWEEP_SIZE = 32;

const watchers = new WeakMap<Guard, WatchResponse>();

/** What attends to the answers of a guard, of all its routes together. `null`: streams may outlive their token. */
export function nodeStreamWatcher(guard: Guard): WatchResponse | null {
  if (guard.watchStream === null) return null;
  const attend = watchers.get(guard) ?? createResponseWatcher(guard.watchStream);
  watchers.set(guard, attend);
  return attend;
}

/**
 * Most answers are over before anything else happens, so they are looked at some later: then nothing of them has to be
 * touched or listened to. What is open by then is dropped as soon as it shows what it is.
 */
function createResponseWatcher(watch: StreamWatch): WatchResponse {
  const open: OpenResponse[] = [];
  let nextSweepAt = SWEEP_SIZE;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const pause = Math.min(MAX_DELAY_MS, watch.every * 1000);

  /** Keeps those that have not begun. */
  function sweep(): void {
    let kept = 0;
    for (const answer of open) {
      if (hasEnded(answer.response)) continue;
      if (answer.response.headersSent) watchIfStream(watch, answer);
      else {
        open[kept] = answer;
        kept += 1;
      }
    }
    open.length = kept;
    // So that each answer is looked at twice on average, however many of them are open.
    nextSweepAt = 2 * kept + SWEEP_SIZE;
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
  const stop = watch(principal, response.req.method ?? 'GET', () => endStream(response));
  response.once('close', stop);
}

/** Of HTTP/1 or HTTP/2. */
type AnyResponse = ServerResponse & { readonly stream?: { readonly destroyed: boolean } | null };

function hasEnded({ writableEnded, destroyed, stream }: AnyResponse): boolean {
  return writableEnded || destroyed || stream?.destroyed === true;
}

/** Fields that `writeHead` was given itself stand nowhere else than in the head as it was sent. */
function contentTypeOf(response: ServerResponse & { readonly _header?: unknown }): unknown {
  const { _header: head } = response;
  const sent = typeof head === 'string' ? /\r\ncontent-type:([^\r]*)/i.exec(head)?.[1] : undefined;
  return sent ?? response.getHeader('content-type');
}

/** As if the application had ended it; what it still writes goes nowhere, as when a client has gone. */
function endStream(response: ServerResponse): void {
  response.on('error', () => {});
  response.end();
}
