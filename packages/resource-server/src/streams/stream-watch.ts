/** Ends event streams when the token that authorized them expires or is revoked. */
import { type TokenAuthenticator, type VerifiedToken, verifiedTokenOf } from '../guard/verified-token.ts';
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
  const { grace, every } = options;
  return Object.assign(watch, { every });

  function watch(principal: Principal, method: string, end: () => void): () => void {
    if (isAnonymous(principal)) return () => undefined;
    const verifiedToken = verifiedTokenOf(principal);
    if (verifiedToken === undefined)
      throw new TypeError('This principal was not created by a guard: pass the one that the guard returned.');
    const goodUntil = verifiedToken.claims.exp + clockTolerance;
    const endsAt = goodUntil + (method === 'GET' ? 0 : grace);
    const stream = { verifiedToken, goodUntil, endsAt, end, isOver: false, timer: null };
    wait(stream, verifiedToken.freshUntil);
    return () => stop(stream);
  }

  function wait(stream: WatchedStream, freshUntil: number): void {
    const seconds = Math.min(stream.endsAt - clock(), every);
    stream.timer = setTimeout(look, Math.max(0, seconds * 1000), stream, freshUntil);
  }

  async function look(stream: WatchedStream, freshUntil: number): Promise<void> {
    const { verifiedToken, goodUntil, endsAt } = stream;
    const now = clock();
    // After its expiry the token cannot be verified any more.
    const fresh = now < goodUntil ? await authenticator.reverify(verifiedToken, freshUntil) : freshUntil;
    if (stream.isOver) return;
    if (fresh !== null && now < endsAt) return wait(stream, fresh);
    stream.isOver = true;
    stream.end();
  }
}

/** Functions of its own would cost each of thousands of streams more memory. */
interface WatchedStream {
  readonly verifiedToken: VerifiedToken;
  /** Epoch seconds. */
  readonly goodUntil: number;
  readonly endsAt: number;
  readonly end: () => void;
  isOver: boolean;
  timer: ReturnType<typeof setTimeout> | null;
}

function stop(stream: WatchedStream): void {
  stream.isOver = true;
  if (stream.timer !== null) clearTimeout(stream.timer);
}

/** Whether a content type is that of server-sent events. */
export function isEventStream(type: unknown): boolean {
  return typeof type === 'string' && /^\s*text\/event-stream\s*(?:;|$)/i.test(type);
}
