/** Ends event streams when the token that authorized them expires or is revoked. */
import {
  requireVerifiedToken,
  type TokenAuthenticator,
  type VerifiedToken,
} from '../guard/verified-token.ts';
import type { StreamOptions } from '../options.ts';
import { isAnonymous, type Principal } from '../principal.ts';

/**
 * Watches a stream that responds to an authorized request: calls `end` once, when its time is over or its token is no
 * longer valid. Returns a function that stops watching.
 * @throws TypeError for a principal that was not created by a guard
 */
export interface StreamWatch {
  (principal: Principal, method: string, end: () => void): () => void;
  /** Seconds between checks of the token. */
  readonly every: number;
}

/** Creates a stream watch. `null` options: streams may outlive their token. */
export function createStreamWatch(
  options: Required<StreamOptions> | null,
  { clock, clockTolerance }: { readonly clock: () => number; readonly clockTolerance: number },
  authenticator: TokenAuthenticator,
): StreamWatch | null {
  if (options === null) return null;
  const { grace, every, endedGrants } = options;
  const streamsOf = new Map<string, Set<WatchedStream>>();
  let unsubscribe: (() => void) | null = null;
  return Object.assign(watch, { every });

  function watch(principal: Principal, method: string, end: () => void): () => void {
    if (isAnonymous(principal)) return () => undefined;
    const verifiedToken = requireVerifiedToken(principal);
    const goodUntil = verifiedToken.claims.exp + clockTolerance;
    const endsAt = goodUntil + (method === 'GET' ? 0 : grace);
    const { grantId } = principal;
    const stream = { verifiedToken, grantId, goodUntil, endsAt, end, isOver: false, timer: null };
    wait(stream, verifiedToken.freshUntil);
    if (grantId !== null) include(stream, grantId);
    return () => stop(stream);
  }

  function include(stream: WatchedStream, grantId: string): void {
    const streams = streamsOf.get(grantId) ?? new Set();
    streamsOf.set(grantId, streams.add(stream));
    unsubscribe ??= endedGrants((grantIds) => {
      for (const id of grantIds) for (const one of streamsOf.get(id) ?? []) lookNow(one);
    });
  }

  function exclude(stream: WatchedStream, grantId: string): void {
    const streams = streamsOf.get(grantId);
    streams?.delete(stream);
    if (streams?.size === 0) streamsOf.delete(grantId);
    if (streamsOf.size > 0) return;
    unsubscribe?.();
    unsubscribe = null;
  }

  function stop(stream: WatchedStream): void {
    if (stream.isOver) return;
    stream.isOver = true;
    if (stream.timer !== null) clearTimeout(stream.timer);
    if (stream.grantId !== null) exclude(stream, stream.grantId);
  }

  function wait(stream: WatchedStream, freshUntil: number): void {
    const seconds = Math.min(stream.endsAt - clock(), every);
    stream.timer = setTimeout(look, Math.max(0, seconds * 1000), stream, freshUntil);
  }

  /** Unless it is being looked at: then a grant that is reported again leads to the next look. */
  function lookNow(stream: WatchedStream): void {
    if (stream.timer === null) return;
    clearTimeout(stream.timer);
    void look(stream, 0);
  }

  async function look(stream: WatchedStream, freshUntil: number): Promise<void> {
    const { verifiedToken, goodUntil, endsAt } = stream;
    stream.timer = null;
    const now = clock();
    // After its expiry the token cannot be verified any more.
    const fresh = now < goodUntil ? await authenticator.reverify(verifiedToken, freshUntil) : freshUntil;
    if (stream.isOver) return;
    if (fresh !== null && now < endsAt) return wait(stream, fresh);
    stop(stream);
    stream.end();
  }
}

/** Functions of its own would cost each of thousands of streams more memory. */
interface WatchedStream {
  readonly verifiedToken: VerifiedToken;
  readonly grantId: string | null;
  /** Epoch seconds. */
  readonly goodUntil: number;
  readonly endsAt: number;
  readonly end: () => void;
  isOver: boolean;
  timer: ReturnType<typeof setTimeout> | null;
}

/**
 * The method by which a watch treats the stream that responds to a request: a subscription carries no response to a call, as a stream
 * that GET opens. @see MCP 2026-07-28, subscriptions
 */
export function watchedMethod(method: string, mcpMethod: unknown): string {
  return mcpMethod === 'subscriptions/listen' ? 'GET' : method;
}

/** Whether a content type is that of server-sent events. */
export function isEventStream(type: unknown): boolean {
  return typeof type === 'string' && /^\s*text\/event-stream\s*(?:;|$)/i.test(type);
}
