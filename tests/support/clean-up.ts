/** Files share a process: what one of them replaces, such as the clock, `console.warn` or the umask, is restored at its end. */
import { isMainThread } from 'node:worker_threads';
import { afterAll, vi } from 'vitest';

// Mutants run in worker threads, which cannot change it.
const umask = isMainThread ? process.umask(0o077) : null;
restoreUmask();

function restoreUmask(): void {
  if (umask !== null) process.umask(umask);
}

afterAll(() => {
  // The command restricts it.
  restoreUmask();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});
