/**
 * MCP servers of others, by the suite's scenarios for servers: directly and through the gateway, side by side. server-everything is
 * installed on demand; the suite's own example server is in its repository only, whose folder `CONFORMANCE_EXAMPLE` names
 * (`examples/servers/typescript`, after `npm install` there).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPackages } from '../support/install.ts';
import { reservePort } from '../support/ports.ts';
import { type ConformanceBackend, runBehindGateway, runScenarios } from './gateway.ts';
import type { Result } from './suite.ts';

interface ForeignServer extends ConformanceBackend {
  readonly name: string;
  /** Where it is reached without the gateway. */
  readonly url: string;
  /** Those that it speaks. */
  readonly revisions: readonly string[];
}

/** One scenario, with what the suite printed for each way. */
export interface Comparison extends Result {
  readonly scenario: string;
  readonly server: string;
  readonly revision: string;
  readonly directly: string;
  readonly guarded: string;
}

export async function runForeign(): Promise<readonly Comparison[]> {
  const rows: Comparison[] = [];
  for (const start of await findServers()) {
    const server = await start();
    try {
      for (const revision of server.revisions) rows.push(...(await compareServer(server, revision)));
    } finally {
      await server.stop();
    }
  }
  return rows;
}

async function compareServer(server: ForeignServer, revision: string): Promise<readonly Comparison[]> {
  const direct = await runScenarios(server.url, revision);
  const through = await runBehindGateway(server.words, (url) => runScenarios(url, revision));
  if (direct.size === 0) throw new Error(`The suite ran no scenario of ${server.name}.`);
  return [...direct].map(([name, directly]) => {
    const guarded = through.get(name) ?? 'not run';
    // A scenario that fails without the gateway may fail otherwise, or pass: the gateway refuses what such a server accepts.
    const passed = guarded.startsWith('✓') || !directly.startsWith('✓');
    const issues = passed ? [] : [`directly ${directly}, through the gateway ${guarded}`];
    const scenario = `${name} of ${server.name} on ${revision}`;
    return { scenario, server: server.name, revision, directly, guarded, passed, checks: directly, issues };
  });
}

async function findServers(): Promise<readonly (() => Promise<ForeignServer>)[]> {
  const folder = fileURLToPath(new URL('../interop/backends/', import.meta.url));
  const { modules, missing } = await installPackages(folder);
  if (missing !== undefined) console.warn(missing);
  const program = join(modules, '@modelcontextprotocol/server-everything/dist/index.js');
  const everything = (name: string, words: (url: string) => readonly string[]) => async () => {
    const { url, stop } = await startProgram([program, 'streamableHttp'], folder);
    return { name, url, words: words(url), revisions: ['2025-11-25'], stop };
  };
  const example = process.env['CONFORMANCE_EXAMPLE'];
  return [
    ...(missing === undefined
      ? [
          everything('server-everything over HTTP', (url) => [url]),
          everything('server-everything over stdio', () => ['--', process.execPath, program, 'stdio']),
        ]
      : []),
    ...(example === undefined
      ? []
      : [
          async () => {
            const { url, stop } = await startProgram(['--import', 'tsx', 'everything-server.ts'], example);
            const revisions = ['2025-11-25', '2026-07-28'];
            return { name: 'the example server of the suite', url, words: [url], revisions, stop };
          },
        ]),
  ];
}

/** Starts a server that listens at `PORT`. */
async function startProgram(
  args: readonly string[],
  cwd: string,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const port = await reservePort();
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, PORT: String(port) },
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  const isUp = () =>
    fetch(url).then(
      () => true,
      () => false,
    );
  for (let attempt = 0; !(await isUp()); attempt += 1) {
    if (attempt === 300 || child.exitCode !== null) throw new Error(`${args.join(' ')} does not start.`);
    await new Promise((done) => setTimeout(done, 100));
  }
  return {
    url,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
