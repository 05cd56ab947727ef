/** `portcullis protect` in a process of its own, on a free port, with its data in memory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { owner } from './portcullis.ts';
import { sourceFlags } from './source-flags.ts';

const main = fileURLToPath(new URL('../../packages/cli/bin.js', import.meta.url));

export interface ProtectedProcess {
  /** Origin and issuer. */
  readonly url: string;
  readonly child: ChildProcess;
  output(): string;
  stop(): Promise<number | null>;
}

/**
 * Starts a command of the server and waits until it is ready.
 * @param words `protect http://127.0.0.1:3000/mcp`
 */
export async function startCommand(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<ProtectedProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-protect-'));
  const child = spawn(process.execPath, [...sourceFlags(), main, ...words], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      PORTCULLIS_PORT: '0',
      PORTCULLIS_DATABASE: ':memory:',
      PORTCULLIS_BOOTSTRAP_EMAIL: owner.email,
      PORTCULLIS_BOOTSTRAP_PASSWORD: owner.password,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const ready = /^ready (\S+)\n/m.exec(output)?.[1];
      if (ready !== undefined) resolve(ready);
    });
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${output}`)));
  });
  return {
    url,
    child,
    output: () => output,
    async stop() {
      process.off('exit', killWithUs);
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
      await rm(folder, { recursive: true, force: true });
      return child.exitCode;
    },
  };
}
