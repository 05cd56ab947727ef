/** The version of this package. A single executable has no manifest beside it: its build replaces this file (scripts/executable.ts). */
import { readFileSync } from 'node:fs';

export const version: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version;
