/** The command `portcullis`. */
import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { version } from './manifest.ts';
import { limitMemoryGrowth } from './memory-limits.ts';
import type { ProcessContext } from './process-context.ts';
import { run } from './program.ts';

/** Commands that last, as in bin.js; others end before smaller generations would pay for their collections. */
const LASTING: readonly (string | undefined)[] = ['up', 'protect', 'connect'];

// A single executable that starts itself again as another process finds its own path there once more.
const args = process.argv.slice(process.argv[2] === process.execPath ? 3 : 2);
// Before anything else is loaded: V8 rejects cached code that was compiled with other options.
if (LASTING.includes(args[0])) limitMemoryGrowth(process.env, process.execArgv);

/** Where npx, pnpm, Yarn and Bun keep a program that is not installed: it can be removed at any time. */
const DOWNLOADED = /[\\/](?:_npx|dlx(?:-\d+)?|bunx-[^\\/]+)[\\/]/;

const isSource = import.meta.url.endsWith('.ts');

const processContext: ProcessContext = {
  environment: process.env,
  folder: process.cwd(),
  streams: { input: process.stdin, output: process.stdout, errors: process.stderr },
  write: (text) => process.stdout.write(text),
  complain: (line) => process.stderr.write(`portcullis: ${line}\n`),
  styled: process.stdout.isTTY && process.stdout.hasColors(),
  version,
  ...invocation(),
};

endWithReader(process.stdout);
endWithReader(process.stderr);

const code = await run(args, processContext);
if (code !== null) process.exit(code);

/**
 * When the reader closes the pipe, as `head` does, commands with clean-up are stopped gracefully and others exit. A server
 * continues (`survive`).
 */
function endWithReader(stream: NodeJS.WriteStream): void {
  let isStopping = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') fail(stream, error);
    process.exitCode = 0;
    if (process.listenerCount('SIGTERM') === 0) process.exit();
    if (!isStopping) process.kill(process.pid, 'SIGTERM');
    isStopping = true;
  });
}

/** A full disk, for example: part of the result is missing. */
function fail(stream: NodeJS.WriteStream, error: Error): never {
  if (stream === process.stdout)
    processContext.complain(`standard output cannot be written: ${error.message}`);
  process.exit(1);
}

/** How users and programs start the command: npm's own output would break stdio. */
function invocation(): Pick<ProcessContext, 'command' | 'launch'> {
  if (isSea()) return { command: 'portcullis', launch: [process.execPath] };
  const program = fileURLToPath(new URL('../bin.js', import.meta.url));
  if (isSource)
    return {
      command: 'npm run -s portcullis --',
      launch: [process.execPath, '--conditions=portcullis-source', program],
    };
  return {
    // By the name of the package, which is ours in every folder: `npx portcullis` downloads another where this one is not installed.
    command: 'npx @portcullis/cli',
    // A host may start it in a folder of others, whose `.npmrc` names the registry of npx.
    launch: DOWNLOADED.test(program) ? ['npx', '-y', '@portcullis/cli'] : [process.execPath, program],
  };
}
