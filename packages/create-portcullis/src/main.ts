/** `npm create portcullis`: three questions, a folder with the configuration, and the running server. */
import { setUp } from './set-up.ts';

process.exitCode = await setUp(process.argv.slice(2), {
  input: process.stdin,
  output: process.stdout,
  errors: process.stderr,
});
