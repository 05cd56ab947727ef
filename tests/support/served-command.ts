/** `portcullis up` and `protect` in the process of the test: a process for each of these commands would cost half a second. */
import { vi } from 'vitest';
import { run } from '../../packages/cli/src/program.ts';
import { createContext, EXIT } from '../../packages/cli/test/support/in-process.ts';

export interface ServedCommand {
  /** Origin and issuer. */
  readonly url: string;
  output(): string;
  /** @returns the exit code */
  stop(): Promise<number | null>;
}

const READY = /^ready (\S+)$/m;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Starts a command that serves until it is stopped. At its end it calls `process.exit`, which throws in a worker of Vitest.
 * Two that start at once in one process would stop each other: each takes the signal handlers that were added meanwhile for its own.
 * @throws Error with its output if it ends before it is ready
 */
export async function serveCommand(
  args: readonly string[],
  context: { readonly environment: Readonly<Record<string, string>>; readonly folder: string },
): Promise<ServedCommand> {
  const { processContext, written } = createContext(context);
  const before = SIGNALS.map((signal) => process.listeners(signal));
  const umask = process.umask();
  const ended = run(args, processContext);
  const early = ended.then((code) => {
    throw new Error(`portcullis ${args.join(' ')} ended with ${code}: ${written.errors}${written.output}`);
  });
  const ready = vi.waitUntil(() => READY.exec(written.output)?.[1], { timeout: 110_000, interval: 10 });
  const url = await Promise.race([early, ready]).finally(() => process.umask(umask));
  early.catch(() => undefined);
  const [interrupt = [], terminate = []] = SIGNALS.map((signal, index) =>
    process.listeners(signal).filter((listener) => !before[index]?.includes(listener)),
  );
  return {
    url,
    output: () => written.output,
    async stop() {
      for (const listener of interrupt) listener('SIGINT');
      const code = await ended;
      // A server adds them for the rest of its process.
      for (const listener of interrupt) process.off('SIGINT', listener);
      for (const listener of terminate) process.off('SIGTERM', listener);
      const [, exit = code] = EXIT.exec(written.errors) ?? [];
      return exit === null ? null : Number(exit);
    },
  };
}
