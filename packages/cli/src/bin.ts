#!/usr/bin/env node
/** Starts the command lean, and with code that was compiled by an earlier start: it halves the time to the first answer. */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { limitMemoryGrowth } from './memory-limits.ts';

limitMemoryGrowth(process.env, process.execArgv);

// Beside the program, where only those can write who could change the program itself. Where nobody can, it does without.
enableCompileCache(fileURLToPath(new URL('../.compile-cache', import.meta.url)));
await import('./main.ts');
