/** Programs of the installed project, each in processes of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { InstalledProject } from './project.ts';

export interface RunningProgram extends AsyncDisposable {
  /** What the awaited line captured. */
  readonly found: string;
  output(): string;
  /** Its output when it has ended by itself. */
  ended(): Promise<string>;
  /** Writes to its standard input. */
  type(text: string): void;
}

export interface ProgramOptions {
  readonly folder?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Data in memory, a free port and an account, as settings. */
export const inMemory: Readonly<Record<string, string>> = {
  PORTCULLIS_PORT: '0',
  PORTCULLIS_DATABASE: ':memory:',
};

/**
 * Starts a program and waits for a line of its output.
 * @param line its first group is `found`
 */
export async function startProgram(
  project: InstalledProject,
  [program = '', ...args]: readonly string[],
  line: RegExp,
  { folder = project.folder, environment = {} }: ProgramOptions = {},
): Promise<RunningProgram> {
  const env = { ...project.environment, ...environment };
  const child = spawn(program, args, { cwd: folder, env, detached: true });
  const closed = once(child, 'close');
  let output = '';
  const found = await new Promise<string>((resolve, reject) => {
    const collect = (chunk: Buffer) => {
      output += String(chunk);
      const match = line.exec(output);
      if (match !== null) resolve(match[1] ?? '');
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.once('error', reject);
    child.once('close', (code) => reject(new Error(`it ended with ${code}: ${output}`)));
  });
  return {
    found,
    output: () => output,
    ended: () => closed.then(() => output),
    type: (text) => void child.stdin.write(text),
    [Symbol.asyncDispose]: () => end(child),
  };
}

/** Ends the whole group: `npx` runs the command as a child of a shell. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  process.kill(-child.pid, 'SIGTERM');
  await gone;
}

/** Runs a program to its end. */
export async function runProgram(
  project: InstalledProject,
  [program = '', ...args]: readonly string[],
  { folder = project.folder, environment = {} }: ProgramOptions = {},
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...project.environment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += String(chunk);
    });
  const [code] = await once(child, 'close');
  return { code, output };
}
