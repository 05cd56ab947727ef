/**
 * Hundreds of processes that tests start load the same few hundred files, and share a compile cache. The processes that run tests
 * stay out of it: the command sets V8 flags, and code that was compiled without them would be replaced each time, and the reverse.
 */
import { fileURLToPath } from 'node:url';

process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
  new URL('../../node_modules/.cache/compiled', import.meta.url),
);
