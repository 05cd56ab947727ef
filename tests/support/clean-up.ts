/** Files share a process: what one of them replaces, such as the clock, `console.warn` or the umask, is restored at its end. */
import { afterAll, vi } from 'vitest';

const umask = process.umask(0o077);
process.umask(umask);

afterAll(() => {
  // The command restricts it.
  process.umask(umask);
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});
