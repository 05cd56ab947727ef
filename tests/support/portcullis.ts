/** Portcullis with the example server, run as documented: the real command, on a free port, with its own data. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FileConfiguration } from '@portcullis/cli';
import { reservePort } from './ports.ts';
import { bundleFlags, SOURCE_CONDITION, sourceFlags } from './source-flags.ts';
import type { Account } from './user.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The command line of `npm start`, from any folder: flags of Node, and finally the application. */
const { scripts }: { scripts: { start: string } } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
const [, ...command] = scripts.start
  .split(' ')
  .map((word) => (/\.[jt]s$/.test(word) ? join(root, word) : word));

/** The first account of a server started here. */
export const owner: Account = { email: 'ada@example.com', password: 'correct horse battery staple' };

export interface Portcullis {
  /** The port on which it listens. */
  readonly port: number;
  /** Origin and issuer. */
  readonly url: string;
  /** The protected server. */
  readonly resource: string;
  /** `XDG_CONFIG_HOME`, with its run file. */
  readonly configHome: string;
  /** CPU milliseconds of the process so far. Linux only. */
  processorTime(): Promise<number>;
  /** SQLite file, unless the configuration names another. */
  readonly database: string;
  output(): string;
  errors(): string;
  /** Resident memory of the process in bytes. Linux only. */
  residentMemory(): Promise<number>;
  /**
   * Stops the process and starts another on the same port and data; `between` runs in the meantime.
   * @param signal `SIGKILL`: it cannot finish pending work
   */
  restart(between?: (database: string) => void, signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Stops the process and removes its data. Returns its exit code. */
  stop(): Promise<number | null>;
}

/**
 * @param configuration the content of the configuration file
 * @param application a module to protect instead of the example
 */
export function startPortcullis(
  configuration: FileConfiguration = {},
  application?: string,
): Promise<Portcullis> {
  return start(configuration, application === undefined ? command : [...command.slice(0, -1), application]);
}

/** Starts it with the limits of memory that the command sets. */
export function startWithOwnLimits(): Promise<Portcullis> {
  return start({}, command, bundleFlags());
}

/**
 * Starts `portcullis protect`.
 * @param words a URL, or `--` and a command
 */
export function startProtect(
  words: readonly string[],
  configuration: FileConfiguration = {},
): Promise<Portcullis> {
  return start(configuration, [...command.slice(0, command.indexOf('up')), 'protect', ...words]);
}

async function start(
  configuration: FileConfiguration,
  words: readonly string[],
  flags = sourceFlags(),
): Promise<Portcullis> {
  const args = words.flatMap((word) => (word === SOURCE_CONDITION ? flags : word));
  const { folder, database, environment } = await createInstallation(configuration);
  // The same port after a restart.
  const port = await reservePort();
  const settings = { ...environment, PORTCULLIS_PORT: String(port) };
  let running = await run(folder, args, settings);
  const { url } = running;
  return {
    port,
    url,
    resource: `${url}/mcp`,
    configHome: folder,
    processorTime: () => processorTime(running.child),
    database,
    output: () => running.output,
    errors: () => running.errors,
    residentMemory: () => residentMemory(running.child),
    async restart(between, signal) {
      await end(running.child, signal);
      between?.(database);
      running = await run(folder, args, settings);
    },
    async stop() {
      const code = await end(running.child);
      await rm(folder, { recursive: true, force: true });
      return code;
    },
  };
}

/** The folder of an installation with its configuration file, and the environment that names both. */
export async function createInstallation(configuration: FileConfiguration): Promise<{
  readonly folder: string;
  readonly database: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}> {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-'));
  const database = configuration.database ?? join(folder, 'portcullis.db');
  const file = join(folder, 'config.json');
  // Identity providers and clients' hosts have as long as a test may take.
  const outbound = { timeout: 100_000, ...configuration.outbound };
  await writeFile(file, JSON.stringify({ ...configuration, outbound }));
  const environment = {
    ...withoutSettings(process.env),
    XDG_CONFIG_HOME: folder,
    PORTCULLIS_CONFIG: file,
    PORTCULLIS_DATABASE: database,
    PORTCULLIS_KEY_FILE: join(folder, 'portcullis.key'),
    ...(configuration.localAccounts !== false && {
      PORTCULLIS_BOOTSTRAP_EMAIL: owner.email,
      PORTCULLIS_BOOTSTRAP_PASSWORD: owner.password,
    }),
  };
  return { folder, database, environment };
}

/** An environment without the developer's own settings. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const others = Object.entries(environment).filter(([name]) => !name.startsWith('PORTCULLIS_'));
  return Object.fromEntries(others);
}

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  output: string;
  errors: string;
}

async function run(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Running> {
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  child.once('exit', () => process.off('exit', killWithUs));
  const said = { output: '', errors: '' };
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.errors += text;
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.output += text;
      const ready = /^ready (\S+)\n/m.exec(said.output)?.[1];
      if (ready !== undefined) resolve(ready);
    });
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${said.errors}${said.output}`)));
  });
  return Object.assign(said, { child, url });
}

async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }
  return child.exitCode;
}

/** User and system time stand 12th and 13th behind the name, in hundredths of a second. @see proc_pid_stat(5) */
async function processorTime({ pid }: ChildProcess): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10;
}

async function residentMemory({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
