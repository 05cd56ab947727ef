/** `portcullis up` and `protect` in the process of the test: a process for each of these commands would cost half a second. */
import { vi } from 'vitest';
import { run } from '../../packages/cli/src/program.ts';
import { createContext } from '../../packages/cli/test/support/in-process.ts';

export interface ServedCommand {
  /** Origin and issuer. */
  readonly url: string;
  output(): string;
  stop(): Promise<void>;
}

const READY = /^ready (\S+)$/m;

/** What `process.exit` throws here. */
class Exit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/**
 * Starts a command that serves until it is stopped.
 * @throws Error with its output if it ends before it is ready
 */
export async function serveCommand(
  args: readonly string[],
  context: { readonly environment: Readonly<Record<string, string>>; readonly folder: string },
): Promise<ServedCommand> {
  const { processContext, written } = createContext(context);
  const before = process.listeners('SIGINT');
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Exit(Number(code));
  });
  const umask = process.umask();
  const ended = runInto(written, args, context).finally(() => {
    exit.mockRestore();
    process.umask(umask);
  });
  const early = ended.then((code) => {
    throw new Error(`portcullis ${args.join(' ')} ended with ${code}: ${written.errors}${written.output}`);
  });
  const url = await Promise.race([
    early,
    vi.waitUntil(() => READY.exec(written.output)?.[1], { timeout: 60_000, interval: 10 }),
  ]);
  early.catch(() => undefined);
  const listeners = process.listeners('SIGINT').filter((listener) => !before.includes(listener));
  return {
    url,
    output: () => written.output,
    async stop() {
      for (const listener of listeners) listener('SIGINT');
      await ended;
      // Each server adds listeners of both signals, for the rest of its process.
      for (const listener of listeners) process.off('SIGINT', listener);
    },
  };
}
