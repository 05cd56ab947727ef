#!/usr/bin/env node
/** Starts the command with a compile cache, which halves the time to the first response. */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { limitMemoryGrowth } from './memory-limits.ts';

limitMemoryGrowth(process.env, process.execArgv);

// Beside the program: only users who can change the program can write there. If the folder is read-only, there is no cache.
enableCompileCache(fileURLToPath(new URL('../.compile-cache', import.meta.url)));
await import('./main.ts');
