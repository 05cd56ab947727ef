/** Ends a client command at SIGINT or SIGTERM, after what it must not leave unfinished. */

/**
 * Exits at the first signal once `finish` is done, and at a second one immediately. Does nothing in a command that stops gracefully by
 * itself.
 * @returns a function that removes the listeners
 */
export function exitAtSignal(finish: () => Promise<void>): () => void {
  if (process.listenerCount('SIGTERM') > 0) return () => undefined;
  let isStopping = false;
  const stop = (code: number): void => {
    if (isStopping) process.exit(code);
    isStopping = true;
    // 0 where the reader of the output has gone.
    process.exitCode ??= code;
    void finish().finally(() => process.exit());
  };
  const stops = { SIGINT: () => stop(130), SIGTERM: () => stop(143) } as const;
  process.on('SIGINT', stops.SIGINT).on('SIGTERM', stops.SIGTERM);
  return () => void process.off('SIGINT', stops.SIGINT).off('SIGTERM', stops.SIGTERM);
}
