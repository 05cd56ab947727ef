/** Runs a command in the process of the test, for what it prints and does: a process costs half a second, and few tests are about it. */
import { Readable, Writable } from 'node:stream';
import type { ProcessContext } from '../../src/process-context.ts';
import { run } from '../../src/program.ts';
import type { Ended } from './command.ts';

interface RunContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The working directory. */
  readonly folder: string;
  /** The content of standard input, which is empty without it. */
  readonly input?: string | undefined;
}

/** What a command writes that calls `process.exit`, which throws in a worker of Vitest. */
export const EXIT: RegExp = /^portcullis: process\.exit unexpectedly called with "(\d+)".*\n/m;

/** Runs a command to its end, without a terminal. */
export async function runHere(args: readonly string[], given: RunContext): Promise<Ended> {
  const { processContext, written } = createContext(given);
  const removeListeners = followStopSignals();
  const code = await run(args, processContext);
  const [, exit] = EXIT.exec(written.errors) ?? [];
  if (exit === undefined) return { code: code ?? 0, ...written };
  removeListeners();
  return { code: Number(exit), output: written.output, errors: written.errors.replace(EXIT, '') };
}

/** @returns a function that removes the listeners added meanwhile: a command that exits its process adds them for the rest of it */
function followStopSignals(): () => void {
  const added = (['SIGINT', 'SIGTERM'] as const).map((signal) => {
    const before = process.listeners(signal);
    return () => {
      for (const listener of process.listeners(signal))
        if (!before.includes(listener)) process.off(signal, listener);
    };
  });
  return () => {
    for (const remove of added) remove();
  };
}

/** The process context of a command that runs here, and what it has written so far. */
export function createContext({ environment, folder, input }: RunContext): {
  readonly processContext: ProcessContext;
  readonly written: { readonly output: string; readonly errors: string };
} {
  const written = { output: '', errors: '' };
  const into = (name: keyof typeof written) =>
    new Writable({
      decodeStrings: false,
      write(chunk, _encoding, done) {
        written[name] += String(chunk);
        done();
      },
    });
  const streams = {
    input: Readable.from(input === undefined ? [] : [input]),
    output: into('output'),
    errors: into('errors'),
  };
  const processContext: ProcessContext = {
    // Without the run files of the developer's own servers.
    environment: { XDG_CONFIG_HOME: folder, ...environment },
    folder,
    streams,
    write: (text) => void streams.output.write(text),
    complain: (line) => void streams.errors.write(`portcullis: ${line}\n`),
    styled: false,
    version: '0.0.0',
    command: 'npm run -s portcullis --',
    launch: ['node', 'bin.js'],
  };
  return { processContext, written };
}
