/** A user's computer for tests of the command line: its home, credentials, browser, and commands that run there. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceFlags } from '../../../../tests/support/source-flags.ts';
import { followShortAddress, type User } from '../../../../tests/support/user.ts';
import { runHere } from './in-process.ts';

export const main: string = fileURLToPath(new URL('../../bin.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** What a command is run with beside its arguments. */
interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** The content of standard input, which is empty without it. */
  readonly input?: string;
}

type Run = (args: readonly string[], options?: RunOptions) => Promise<Ended>;

/** A user's computer: a home folder, a browser, and commands that run there. */
export interface Computer {
  readonly folder: string;
  readonly credentials: string;
  readonly environment: Readonly<Record<string, string>>;
  /** URLs opened in the browser so far. */
  opened(): readonly URL[];
  /** Starts the command in a process of its own. */
  start(args: readonly string[], environment?: Readonly<Record<string, string>>): ChildProcess;
  /** Runs the command to its end in the process of the test, which saves the start of Node. */
  readonly run: Run;
  /** Runs the command to its end in a process of its own, for tests of the process: its exit, its standard streams. */
  readonly runProcess: Run;
  close(): void;
}

/** Standard error without the progress of steps that take long, as on a busy computer. */
export const withoutProgress = (errors: string): string => errors.replaceAll(/^.* …\n/gm, '');

/** A user of a stub server, whose pages redirect at once. */
export const followRedirects: User = {
  authorize: async (url) => new URL((await fetch(url, { redirect: 'manual' })).headers.get('location') ?? ''),
};

/** @param user signs in on the pages that the browser opens; without one they stay open */
export function createComputer(user?: User): Computer {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-computer-'));
  const list = join(folder, 'opened');
  for (const name of ['xdg-open', 'open']) {
    writeFileSync(join(folder, name), `#!/bin/sh\nprintf '%s\\n' "$1" >> '${list}'\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const credentials = join(folder, 'kept', 'credentials.db');
  const environment = {
    PATH: `${folder}${delimiter}${process.env['PATH']}`,
    HOME: folder,
    PORTCULLIS_CREDENTIALS: credentials,
  };
  let visited = 0;
  const opened: URL[] = [];
  const visits = setInterval(() => {
    const lines = existsSync(list) ? readFileSync(list, 'utf8').split('\n').slice(0, -1) : [];
    for (const line of lines.slice(visited)) {
      visited += 1;
      // A user who cannot sign in leaves the page open, and the command has to report that.
      void visit(line).catch(() => undefined);
    }
  }, 10);

  async function visit(address: string): Promise<void> {
    const url = await followShortAddress(address);
    opened.push(url);
    if (user !== undefined) await fetch(await user.authorize(url));
  }

  function start(
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
    input: 'ignore' | 'pipe' = 'pipe',
  ): ChildProcess {
    return spawn(process.execPath, [...sourceFlags(), main, ...args], {
      cwd: folder,
      env: { ...environment, ...more },
      stdio: [input, 'pipe', 'pipe'],
    });
  }

  return {
    folder,
    credentials,
    environment,
    opened: () => opened,
    start,
    run: (args, { environment: more = {}, input } = {}) =>
      runHere(args, { environment: { ...environment, ...more }, folder, input }),
    async runProcess(args, { environment: more = {}, input } = {}) {
      const child = start(args, more, input === undefined ? 'ignore' : 'pipe');
      child.stdin?.end(input);
      let [output, errors] = ['', ''];
      child.stdout?.on('data', (chunk) => (output += chunk));
      child.stderr?.on('data', (chunk) => (errors += chunk));
      const [code] = (await once(child, 'close')) as [number | null];
      return { code, output, errors };
    },
    close() {
      clearInterval(visits);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
