/** One process that speaks MCP on standard input and output, with its own environment and a process group that ends with it. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { homedir } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { type Message, parseMessage, type TransportReceiver } from '@portcullis/http';
import {
  MAX_INVALID_LINES,
  MAX_LAST_ERROR,
  MAX_LOG_LINE,
  MAX_LOG_LINES,
  MAX_STDIN_BUFFER,
  STDIN_END_GRACE,
  TERM_GRACE,
} from '../../limits.ts';
import type { StdioBackendDefinition } from '../../servers/server.ts';
import { BackendError } from '../backend.ts';
import { wrapCommand } from './isolation.ts';

/** Receives a process's standard error and its lifecycle events. */
export type ProcessLog = (server: string, line: string) => void;

export type StdioProcess = ReturnType<typeof startProcess>;

export interface ProcessOptions {
  readonly name: string;
  readonly definition: StdioBackendDefinition;
  /** Bytes of one message. */
  readonly frame: number;
  readonly log: ProcessLog;
}

/** Process groups that are ended when this process exits. */
const groups = new Set<number>();
process.once('exit', () => {
  for (const group of groups) signalGroup(group, 'SIGKILL');
});

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: all callbacks set or read the one reason for the process's end
export function startProcess({ name, definition, frame, log }: ProcessOptions, receiver: TransportReceiver) {
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
  /** Whether it was stopped by `close`, when it has exited. */
  const exited = Promise.withResolvers<boolean>();
  let invalidLines = 0;
  let lastError = '';
  let reason: string | null = null;
  let isStopped = false;

  child.once('error', (error) => finish(`could not be started (${error.message})`));
  // Not `exit`: output written before it is still read.
  child.once('close', (code, signal) => finish(`ended (${signal ?? `exit code ${code}`})`));
  child.once('exit', () => setTimeout(() => child.stdout.destroy(), TERM_GRACE).unref());
  child.stdin.on('error', () => undefined);
  readLines(child.stdout, frame, receive, () => kill('sent a message that is longer than the limit'));
  followErrors(child.stderr, (line) => {
    if (line.trim() !== '') lastError = line.trim();
    log(name, line);
  });
  return { pid, exited: exited.promise, kill, send, close };

  function receive(line: string): void {
    const message = parseMessage(line);
    if (message !== null) return void accept(message);
    invalidLines += 1;
    if (invalidLines <= MAX_LOG_LINES) log(name, `on standard output, no message: ${clean(line)}`);
    if (invalidLines === MAX_INVALID_LINES) kill('writes something other than messages to standard output');
  }

  /** An error here would end this process: nothing else catches it. */
  function accept(message: Message): void {
    try {
      receiver.accept(message, null);
    } catch (error) {
      log(name, `on standard output, a message that cannot be forwarded: ${clean(String(error))}`);
      kill('sent a message that cannot be forwarded');
    }
  }

  async function send(message: unknown): Promise<void> {
    if (reason !== null || !child.stdin.writable)
      throw new BackendError('unavailable', `The process of ${name} has ended.`);
    if (child.stdin.writableLength > MAX_STDIN_BUFFER)
      throw new BackendError('overloaded', `The process of ${name} does not read its input.`);
    child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Ends it at once, with its whole process group. @param why for its callers */
  function kill(why: string): void {
    reason ??= why;
    receiver.fail(new BackendError('lost', `The process of ${name} ${why}.`));
    if (pid !== undefined) signalGroup(pid, 'SIGKILL');
  }

  /** @see MCP lifecycle, shutdown over stdio */
  async function close(): Promise<void> {
    reason ??= 'was stopped';
    isStopped = true;
    receiver.fail(new BackendError('unavailable', `The process of ${name} was stopped.`));
    child.stdin.end();
    if (pid === undefined) return;
    const term = setTimeout(signalGroup, STDIN_END_GRACE, pid, 'SIGTERM');
    const last = setTimeout(signalGroup, STDIN_END_GRACE + TERM_GRACE, pid, 'SIGKILL');
    await exited.promise;
    clearTimeout(term);
    clearTimeout(last);
  }

  function finish(how: string): void {
    reason ??= how;
    // Its children are terminated too.
    if (pid !== undefined && groups.delete(pid)) signalGroup(pid, 'SIGKILL');
    log(name, `the process ${reason}${isStopped ? ': it is not needed now' : ''}`);
    const said =
      lastError === '' ? '' : ` Its last words on standard error: ${lastError.slice(0, MAX_LAST_ERROR)}`;
    receiver.fail(new BackendError('lost', `The process of ${name} ${reason}.${said}`));
    exited.resolve(isStopped);
  }
}

/** Of this process's environment, only the paths of programs and of the home folder. */
function createEnvironment({ environment }: StdioBackendDefinition): Record<string, string> {
  const { PATH: path = '/usr/local/bin:/usr/bin:/bin', HOME: home = homedir() } = process.env;
  return { PATH: path, HOME: home, ...environment };
}

/** Splits a stream into lines. @param tooLong called once for a line over the limit; nothing is read after it */
function readLines(
  stream: Readable,
  limit: number,
  receive: (line: string) => void,
  tooLong: () => void,
): void {
  let pieces: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      if (size > limit) return stop();
      const line = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
      pieces = [];
      size = 0;
      const text = line?.toString('utf8').trim() ?? '';
      if (text !== '') receive(text);
    }
    add(chunk.subarray(start));
    if (size > limit) stop();
  });
  stream.on('error', () => undefined);

  function add(piece: Buffer): void {
    if (piece.length === 0) return;
    pieces.push(piece);
    size += piece.length;
  }

  function stop(): void {
    pieces = [];
    stream.removeAllListeners('data').resume();
    tooLong();
  }
}

function followErrors(stream: Readable, log: (line: string) => void): void {
  let second = 0;
  let lines = 0;
  const receive = (line: string): void => {
    const now = Math.floor(performance.now() / 1000);
    lines = now === second ? lines + 1 : 1;
    second = now;
    if (lines <= MAX_LOG_LINES) log(clean(line));
    else if (lines === MAX_LOG_LINES + 1) log('(more lines of this second are left out)');
  };
  const follow = (): void => readLines(stream, MAX_LOG_LINE * 32, receive, () => setImmediate(follow));
  follow();
}

/** One line without control characters, which could forge log lines or control a terminal. */
function clean(line: string): string {
  return line.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ').slice(0, MAX_LOG_LINE);
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // It has exited.
  }
}
