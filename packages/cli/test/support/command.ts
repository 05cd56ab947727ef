/** The real command in a process of its own, with a browser that somebody else attends to, and credentials that are nobody's. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { User } from '../../../../tests/support/user.ts';

export const main: string = fileURLToPath(new URL('../../from-sources.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** A computer of a person: a home, a browser, and programs that run there. */
export interface Computer {
  readonly folder: string;
  readonly credentials: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Addresses that were opened in the browser. */
  opened(): readonly URL[];
  start(args: readonly string[], environment?: Readonly<Record<string, string>>): ChildProcess;
  /** Runs the command to its end. `input` is what stands on its standard input; none: it is closed. */
  run(
    args: readonly string[],
    more?: { readonly environment?: Readonly<Record<string, string>>; readonly input?: string },
  ): Promise<Ended>;
  leave(): void;
}

/** @param user attends to the browser; without one pages are opened and nobody looks */
export function createComputer(user?: User): Computer {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-person-'));
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
  let attended = 0;
  const opened = (): readonly URL[] =>
    existsSync(list)
      ? readFileSync(list, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => new URL(line))
      : [];
  const attend = setInterval(() => {
    const all = opened();
    for (const url of all.slice(attended)) {
      attended += 1;
      // Whoever cannot sign in leaves the page open: the command is who has to notice.
      void user
        ?.authorize(url)
        .then(fetch)
        .catch(() => undefined);
    }
  }, 30);

  function start(
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
    input: 'ignore' | 'pipe' = 'pipe',
  ): ChildProcess {
    return spawn(process.execPath, ['--conditions=portcullis-source', main, ...args], {
      cwd: folder,
      env: { ...environment, ...more },
      stdio: [input, 'pipe', 'pipe'],
    });
  }

  return {
    folder,
    credentials,
    environment,
    opened,
    start,
    async run(args, { environment: more = {}, input } = {}) {
      const child = start(args, more, input === undefined ? 'ignore' : 'pipe');
      child.stdin?.end(input);
      let [output, errors] = ['', ''];
      child.stdout?.on('data', (chunk) => (output += chunk));
      child.stderr?.on('data', (chunk) => (errors += chunk));
      const [code] = (await once(child, 'close')) as [number | null];
      return { code, output, errors };
    },
    leave() {
      clearInterval(attend);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
