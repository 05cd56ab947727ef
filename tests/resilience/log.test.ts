/** Logging never stops the server: a full disk, a reader that is gone or stopped, and one that returns. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { reservePort } from '../support/ports.ts';
import { sourceFlags } from '../support/source-flags.ts';
import { TIMEOUT } from './sizes.ts';

const main = fileURLToPath(new URL('../../packages/cli/bin.js', import.meta.url));
const app = fileURLToPath(new URL('../../examples/notes/src/app.ts', import.meta.url));

interface Server {
  /** One request that is logged. @returns its status */
  refuse(): Promise<number>;
  dropped(): Promise<number>;
  /** Stops it. @returns its exit code */
  stop(): Promise<number | null>;
}

/** A server whose standard output and standard error are this file descriptor. */
async function start(descriptor: number, atEnd: (work: () => void) => void): Promise<Server> {
  const port = await reservePort();
  const environment = { PORTCULLIS_DATABASE: ':memory:', PORTCULLIS_PORT: `${port}`, PORTCULLIS_LOG: 'json' };
  const child = spawn(process.execPath, [...sourceFlags(), main, 'up', '--app', app], {
    cwd: tmpdir(),
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', descriptor, descriptor],
  });
  atEnd(() => void child.kill('SIGKILL'));
  closeSync(descriptor);
  const url = `http://localhost:${port}`;
  const isUp = () => fetch(`${url}/readyz`).then(({ status }) => status, String);
  await expect.poll(isUp).toBe(200);
  return {
    refuse: async () => {
      const body = new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: 'x',
        client_id: 'none',
      });
      return (await fetch(`${url}/token`, { method: 'POST', body })).status;
    },
    dropped: async () => {
      const text = await (await fetch(`${url}/metrics`)).text();
      return Number(/^portcullis_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
    },
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      return (await ended)[0] as number | null;
    },
  };
}

/** A named pipe, and how it is read. */
function createPipe(atEnd: (work: () => void) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-log-'));
  atEnd(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'log');
  execFileSync('mkfifo', [path]);
  return {
    openReader: () => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
    openWriter: () => openSync(path, constants.O_WRONLY),
  };
}

function readAll(reader: number): string {
  const chunk = Buffer.alloc(1_000_000);
  try {
    return chunk.toString('utf8', 0, readSync(reader, chunk));
  } catch {
    return '';
  }
}

describe.skipIf(process.platform !== 'linux')(
  'a server that cannot log (skipped where there is no /dev/full)',
  () => {
    it(
      'a full disk behind stdout and stderr stops nothing: it serves, counts the lost lines, and ends with 0 on SIGTERM',
      async ({ onTestFinished: atEnd }) => {
        const server = await start(openSync('/dev/full', 'w'), atEnd);
        const before = await server.dropped();
        for (let count = 0; count < 20; count += 1) expect(await server.refuse()).toBe(401);
        await expect.poll(() => server.dropped()).toBeGreaterThanOrEqual(before + 20);
        expect(await server.stop()).toBe(0);
      },
      TIMEOUT,
    );

    it(
      'a closed log pipe stops nothing, and when a reader returns, the log says how many lines are missing',
      async ({ onTestFinished: atEnd }) => {
        const pipe = createPipe(atEnd);
        const first = pipe.openReader();
        const server = await start(pipe.openWriter(), atEnd);
        closeSync(first);
        for (let count = 0; count < 20; count += 1) expect(await server.refuse()).toBe(401);
        await expect.poll(() => server.dropped()).toBeGreaterThanOrEqual(20);
        const lost = await server.dropped();

        const second = pipe.openReader();
        atEnd(() => closeSync(second));
        expect(await server.refuse()).toBe(401);
        let log = '';
        const recovered = () => {
          log += readAll(second);
          return /"type":"log.recovered","dropped":(\d+)/.exec(log)?.[1];
        };
        await expect.poll(recovered).toBe(String(lost));
        expect(log).toContain('"type":"request.rejected"');
        expect(await server.stop()).toBe(0);
      },
      TIMEOUT,
    );
  },
);
