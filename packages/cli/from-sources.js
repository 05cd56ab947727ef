/** Starts the command in a clone. Plain JavaScript: types are stripped behind the cache, so that only a first start pays for it. */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

enableCompileCache(fileURLToPath(new URL('.compile-cache', import.meta.url)));
await import('./src/bin.ts');
