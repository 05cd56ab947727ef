/**
 * The suite's scenarios for servers, against an MCP server directly and through the gateway: each must end in the same way.
 *
 * What another transport cannot say is in expected-failures.json: a session does not carry the capabilities of a single request, the
 * names of its server requests, or the error for a capability that was not declared; a stateless server cannot ask in the middle of a
 * call; and streams of the message path are not closed for polling.
 */
import { createServer, type RequestListener, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { machineClient, requestMachineToken } from '../support/machine-client.ts';
import { startProtect } from '../support/portcullis.ts';
import { runInLanes } from './lanes.ts';
import { type EverythingServer, startEverythingServer } from './server/everything-server.ts';
import { startSseServer } from './server/sse.ts';
import { LIMIT, type Result, runSuite } from './suite.ts';

/** Each is run with all scenarios that it requires, on its transport. */
const REVISIONS = ['2025-11-25', '2026-07-28'];

/** Backends at the same time, each with processes of its own: most of a run waits. */
const LANES = 3;

/** A backend of each transport; a client of each revision reaches it. */
const backends: Readonly<Record<string, () => Promise<ConformanceBackend>>> = {
  'both transports': async () => viaUrl(await startEverythingServer('both')),
  sessions: async () => viaUrl(await startEverythingServer('sessions')),
  stateless: async () => viaUrl(await startEverythingServer('stateless')),
  'HTTP+SSE': async () => viaUrl(await startSseServer()),
  stdio: async () => ({ words: ['--', process.execPath, stdio], stop: async () => undefined }),
};

export interface ConformanceBackend {
  /** Of `portcullis protect`. */
  readonly words: readonly string[];
  stop(): Promise<void>;
}

const stdio = fileURLToPath(new URL('server/stdio.ts', import.meta.url));

function viaUrl({ url, stop }: EverythingServer): ConformanceBackend {
  return { words: [url], stop };
}

/** Compares every scenario of every revision, by a backend of every transport, with a server that speaks the revision itself. */
export async function runGateway(): Promise<readonly (Result & { readonly scenario: string })[]> {
  const reference = await startEverythingServer('both');
  try {
    const runs = await runInLanes(
      REVISIONS,
      LANES,
      async (revision) => [revision, await runScenarios(reference.url, revision)] as const,
    );
    const direct = new Map(runs);
    const rows = await runInLanes(Object.entries(backends), LANES, async ([transport, start]) =>
      runBackend(transport, await start(), direct),
    );
    return rows.flat();
  } finally {
    await reference.stop();
  }
}

async function runBackend(
  transport: string,
  backend: ConformanceBackend,
  direct: ReadonlyMap<string, ReadonlyMap<string, string>>,
): Promise<readonly (Result & { readonly scenario: string })[]> {
  try {
    return await runBehindGateway(backend.words, async (url) => {
      const rows: (Result & { readonly scenario: string })[] = [];
      for (const [revision, expected] of direct)
        rows.push(...compare(`${revision} to ${transport}`, expected, await runScenarios(url, revision)));
      return rows;
    });
  } finally {
    await backend.stop();
  }
}

/** @param words of `portcullis protect` @param run gets a URL at which the suite needs no token */
export async function runBehindGateway<Result>(
  words: readonly string[],
  run: (url: string) => Promise<Result>,
): Promise<Result> {
  const portcullis = await startProtect(words, { clients: [machineClient] });
  const front = await startBearer(portcullis.resource, await requestMachineToken(portcullis.url));
  try {
    return await run(front.url);
  } finally {
    await front.stop();
    await portcullis.stop();
  }
}

/** Scenario → its line in the summary of the suite. */
export async function runScenarios(url: string, revision: string): Promise<ReadonlyMap<string, string>> {
  const { output } = await runSuite(['server', '--url', url, '--timeout', LIMIT, '--requirements', revision]);
  const lines = output.matchAll(/^([✓✗]) (\S+): (\d+ passed, \d+ failed.*)$/gmu);
  return new Map([...lines].map(([, mark, scenario = '', counts]) => [scenario, `${mark} ${counts}`]));
}

function compare(
  revision: string,
  direct: ReadonlyMap<string, string>,
  guarded: ReadonlyMap<string, string>,
): readonly (Result & { readonly scenario: string })[] {
  if (direct.size === 0) throw new Error(`The suite ran no scenario of ${revision}.`);
  return [...direct].map(([name, expected]) => {
    const found = guarded.get(name) ?? 'not run';
    const passed = found === expected;
    return {
      scenario: `${name} through the gateway on ${revision}`,
      passed,
      checks: expected,
      issues: passed ? [] : [`directly ${expected}, through the gateway ${found}`],
    };
  });
}

/** Adds the access token, which the suite has no option for, to each request. */
async function startBearer(
  resource: string,
  token: string,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const target = new URL(resource);
  const forward: RequestListener = (incoming, outgoing) => {
    const { method, headers } = incoming;
    // The suite rebinds names by this header, which must arrive as it was sent, unless it names this relay.
    const host = headers.host === `127.0.0.1:${port}` ? target.host : headers.host;
    const relayed = send(
      target,
      { method, headers: { ...headers, host, authorization: `Bearer ${token}` } },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      },
    );
    relayed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => relayed.destroy());
    incoming.pipe(relayed);
  };
  const server = createServer(forward);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
