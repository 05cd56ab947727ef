/** One process that speaks MCP on standard input and output, with an environment of its own and a process group that ends with it. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { homedir } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { parseMessage } from '@portcullis/http';
import type { StdioBackendDefinition } from '../../servers/server.ts';
import { BackendError } from '../backend.ts';
import type { Wire, WireReceiver } from '../wire.ts';
import { wrapCommand } from './isolation.ts';
import { readLines } from './lines.ts';

/** Receives what a process writes to standard error, and what happens to it. */
export type ProcessLog = (server: string, line: string) => void;

export interface StdioProcess extends Wire {
  readonly pid: number | undefined;
  /** Resolves when it has exited; `true` if it was stopped by `close`. */
  readonly exited: Promise<boolean>;
  /** Ends it at once, with its whole process group. @param reason what its callers are told */
  kill(reason: string): void;
}

export interface ProcessOptions {
  readonly name: string;
  readonly definition: StdioBackendDefinition;
  /** Bytes of one message. */
  readonly frame: number;
  readonly log: ProcessLog;
}

/** Bytes that may wait for a process that does not read. */
const MAX_UNREAD = 16 * 1024 * 1024;

/** Lines of one process in the log: of standard error per second, and of standard output that are no messages. */
const MAX_LINES = 50;
const MAX_LINE = 2000;
const MAX_GARBAGE = 1000;

/** Milliseconds: for a process to end by itself when its standard input has ended, and after SIGTERM. */
const END_GRACE = 1000;
const TERM_GRACE = 2000;

/** Process groups that are ended when this process exits. */
const groups = new Set<number>();
process.once('exit', () => {
  for (const group of groups) signalGroup(group, 'SIGKILL');
});

export function startProcess(
  { name, definition, frame, log }: ProcessOptions,
  receiver: WireReceiver,
): StdioProcess {
  const [file, args] = wrapCommand(definition);
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(file, args, {
    cwd: definition.folder,
    env: createEnvironment(definition),
    // A process group of its own.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    ...definition.identity,
  });
  const { pid } = child;
  if (pid !== undefined) groups.add(pid);
  const exited = Promise.withResolvers<boolean>();
  let garbage = 0;
  let reason: string | null = null;
  let isStopped = false;

  child.once('error', (error) => finish(`could not be started (${error.message})`));
  // Not `exit`: what it wrote before is still read.
  child.once('close', (code, signal) => finish(`ended (${signal ?? `exit code ${code}`})`));
  child.once('exit', () => setTimeout(() => child.stdout.destroy(), TERM_GRACE).unref());
  child.stdin.on('error', () => undefined);
  readLines(child.stdout, frame, receive, () => kill('sent a message that is longer than the limit'));
  followErrors(child.stderr, (line) => log(name, line));
  return { pid, exited: exited.promise, kill, send, close };

  function receive(line: string): void {
    const message = parseMessage(line);
    if (message !== null) return void receiver.accept(message, null);
    garbage += 1;
    if (garbage <= MAX_LINES) log(name, `on standard output, no message: ${clean(line)}`);
    if (garbage === MAX_GARBAGE) kill('writes something other than messages to standard output');
  }

  async function send(message: unknown): Promise<void> {
    if (reason !== null || !child.stdin.writable)
      throw new BackendError('unavailable', `The process of ${name} has ended.`);
    if (child.stdin.writableLength > MAX_UNREAD)
      throw new BackendError('overloaded', `The process of ${name} does not read its input.`);
    child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  function kill(why: string): void {
    reason ??= why;
    receiver.fail(new BackendError('unavailable', `The process of ${name} ${why}.`));
    if (pid !== undefined) signalGroup(pid, 'SIGKILL');
  }

  /** @see MCP lifecycle, shutdown over stdio */
  async function close(): Promise<void> {
    reason ??= 'was stopped';
    isStopped = true;
    receiver.fail(new BackendError('unavailable', `The process of ${name} was stopped.`));
    child.stdin.end();
    if (pid === undefined) return;
    const term = setTimeout(signalGroup, END_GRACE, pid, 'SIGTERM');
    const last = setTimeout(signalGroup, END_GRACE + TERM_GRACE, pid, 'SIGKILL');
    await exited.promise;
    clearTimeout(term);
    clearTimeout(last);
  }

  function finish(how: string): void {
    reason ??= how;
    // Its children end with it.
    if (pid !== undefined && groups.delete(pid)) signalGroup(pid, 'SIGKILL');
    log(name, `the process ${reason}`);
    receiver.fail(new BackendError('unavailable', `The process of ${name} ${reason}.`));
    exited.resolve(isStopped);
  }
}

/** Nothing of the environment of this process but where programs and the home folder are. */
function createEnvironment({ environment }: StdioBackendDefinition): Record<string, string> {
  const { PATH: path = '/usr/local/bin:/usr/bin:/bin', HOME: home = homedir() } = process.env;
  return { PATH: path, HOME: home, ...environment };
}

function followErrors(stream: Readable, log: (line: string) => void): void {
  let second = 0;
  let lines = 0;
  const receive = (line: string): void => {
    const now = Math.floor(performance.now() / 1000);
    lines = now === second ? lines + 1 : 1;
    second = now;
    if (lines <= MAX_LINES) log(clean(line));
    else if (lines === MAX_LINES + 1) log('(more lines of this second are left out)');
  };
  const follow = (): void => readLines(stream, MAX_LINE * 32, receive, () => setImmediate(follow));
  follow();
}

/** One line without control characters, which could forge lines of the log or steer a terminal. */
function clean(line: string): string {
  return line.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ').slice(0, MAX_LINE);
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // It has ended.
  }
}
