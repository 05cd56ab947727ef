/** Run files: each running server describes itself in one, so that commands in any folder find its database and its URL. */
import { rmSync } from 'node:fs';
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { settingsFolder } from '../client/credentials-path.ts';
import { isObject, parseJson } from '../json.ts';
import { createFolder } from './folders.ts';

/** A running server, as its run file describes it. It contains no secret. */
export interface RunningServer {
  readonly pid: number;
  /** The address it listens on. */
  readonly host: string;
  readonly port: number;
  /** The public URL: the issuer. */
  readonly url: string;
  /** An absolute path, `:memory:`, or a `postgres:` URL without a password. */
  readonly database: string;
  /** The working directory: base of relative paths in its settings. */
  readonly folder: string;
  /** An absolute path; `null` if there is none. */
  readonly config: string | null;
  /** An absolute path; `null` if the master key is not in a file. */
  readonly keyFile: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Milliseconds for a server on this computer to accept a connection. */
const CONNECT_TIMEOUT = 1_000;

/**
 * Writes the run file of this process, readable by this user only. A server also runs where it cannot be written.
 * @returns a function that removes it
 */
export async function writeRunFile(server: RunningServer, environment: Environment): Promise<() => void> {
  const path = join(runFolder(environment), `${server.pid}.json`);
  const remove = () => rmSync(path, { force: true });
  try {
    await createFolder(runFolder(environment));
    // Renamed atomically: no command reads a partial file.
    await writeFile(`${path}.new`, `${JSON.stringify(server, null, 2)}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  } catch {
    return () => {};
  }
  // A second stop signal ends the process at once.
  process.once('exit', remove);
  return () => {
    process.off('exit', remove);
    remove();
  };
}

/** Finds the servers that this user runs on this computer, and removes the run files of those that were killed. */
export async function findRunningServers(environment: Environment): Promise<readonly RunningServer[]> {
  const folder = runFolder(environment);
  const names = await readdir(folder).catch(() => []);
  const paths = names.filter((name) => /^\d+\.json$/.test(name)).map((name) => join(folder, name));
  const servers = await Promise.all(paths.map(findRunning));
  return servers.filter((server) => server !== null);
}

async function findRunning(path: string): Promise<RunningServer | null> {
  const server = await readRunFile(path).catch(() => null);
  if (server === null) return null;
  if (!isAlive(server.pid)) {
    rmSync(path, { force: true });
    return null;
  }
  // The system may have reused the process ID of a killed server.
  return (await isListening(server)) ? server : null;
}

async function readRunFile(path: string): Promise<RunningServer | null> {
  const { mode, uid } = await stat(path);
  const isOwn = process.platform === 'win32' || (uid === process.getuid?.() && (mode & 0o022) === 0);
  const content = parseJson(await readFile(path, 'utf8'));
  return isOwn && isRunFile(content) ? content : null;
}

const TEXTS = ['host', 'url', 'database', 'folder'] as const;
const PATHS = ['config', 'keyFile'] as const;

function isRunFile(content: unknown): content is RunningServer {
  if (!isObject(content)) return false;
  const { pid, port } = content;
  return (
    [pid, port].every((number) => Number.isSafeInteger(number) && Number(number) > 0) &&
    TEXTS.every((name) => typeof content[name] === 'string') &&
    PATHS.every((name) => content[name] === null || typeof content[name] === 'string')
  );
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // Includes EPERM: a process of another user did not write the file.
    return false;
  }
}

function isListening({ host, port }: RunningServer): Promise<boolean> {
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: CONNECT_TIMEOUT });
    const end = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket
      .once('connect', () => end(true))
      .once('timeout', () => end(false))
      .once('error', () => end(false));
  });
}

function runFolder(environment: Environment): string {
  return join(settingsFolder(environment), 'portcullis', 'running');
}
