/** The command without a process of its own, for what it says and does: a process costs half a second, and most tests are not about it. */
import { Readable, Writable } from 'node:stream';
import { run } from '../../src/program.ts';
import type { Ended } from './command.ts';

interface Around {
  readonly environment: Readonly<Record<string, string>>;
  /** Where it is called. */
  readonly folder: string;
  /** What stands on its standard input; nothing when left out. */
  readonly input?: string | undefined;
}

/** Runs a command line to its end, away from any terminal. */
export async function runHere(
  words: readonly string[],
  { environment, folder, input }: Around,
): Promise<Ended> {
  const said = { output: '', errors: '' };
  const into = (name: keyof typeof said) =>
    new Writable({
      decodeStrings: false,
      write(chunk, _encoding, done) {
        said[name] += String(chunk);
        done();
      },
    });
  const streams = {
    input: Readable.from(input === undefined ? [] : [input]),
    output: into('output'),
    errors: into('errors'),
  };
  const code = await run(words, {
    environment,
    folder,
    streams,
    write: (text) => void streams.output.write(text),
    complain: (line) => void streams.errors.write(`portcullis: ${line}\n`),
    styled: false,
    version: '0.0.0',
    command: 'npm run portcullis --',
  });
  return { code: code ?? 0, ...said };
}
