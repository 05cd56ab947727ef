/** Runs a command in the process of the test, for what it prints and does: a process costs half a second, and few tests are about it. */
import { Readable, Writable } from 'node:stream';
import { run } from '../../src/program.ts';
import type { Ended } from './command.ts';

interface RunContext {
  readonly environment: Readonly<Record<string, string>>;
  /** The working directory. */
  readonly folder: string;
  /** The content of standard input, which is empty without it. */
  readonly input?: string | undefined;
}

/** Runs a command to its end, without a terminal. */
export async function runHere(
  args: readonly string[],
  { environment, folder, input }: RunContext,
): Promise<Ended> {
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
  const code = await run(args, {
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
  });
  return { code: code ?? 0, ...written };
}
