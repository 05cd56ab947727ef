/** Each mutant runs in a worker thread of its own, which would compile hundreds of unchanged modules again. */
import { enableCompileCache, flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/compiled-mutants', import.meta.url)));

afterAll(() => flushCompileCache());
