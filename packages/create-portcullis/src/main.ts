/** `npm create portcullis`: three questions, a folder with the configuration, and the running server. */
import { printSchema } from './programs.ts';
import { setUp } from './set-up.ts';

const streams = { input: process.stdin, output: process.stdout, errors: process.stderr };
process.exitCode = await setUp(process.argv.slice(2), streams, printSchema);
