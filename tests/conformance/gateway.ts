/** The suite's scenarios for servers, against an MCP server directly and through the gateway: each must end in the same way. */
import { createServer, type RequestListener, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { machineClient, requestMachineToken } from '../support/machine-client.ts';
import { startProtect } from '../support/portcullis.ts';
import { startEverythingServer } from './server/everything-server.ts';
import { type Result, runSuite } from './suite.ts';

/** Each is run with all scenarios that it requires, on its wire. */
const REVISIONS = ['2025-11-25', '2026-07-28'];

/** Compares every scenario of every revision. */
export async function runGateway(): Promise<readonly (Result & { readonly scenario: string })[]> {
  const backend = await startEverythingServer();
  const portcullis = await startProtect([backend.url], { clients: [machineClient] });
  const front = await startBearer(portcullis.resource, await requestMachineToken(portcullis.url));
  try {
    const rows = [];
    for (const revision of REVISIONS) {
      const direct = await runScenarios(backend.url, revision);
      const guarded = await runScenarios(front.url, revision);
      rows.push(...compare(revision, direct, guarded));
    }
    return rows;
  } finally {
    await front.stop();
    await portcullis.stop();
    await backend.stop();
  }
}

/** Scenario → its line in the summary of the suite. */
async function runScenarios(url: string, revision: string): Promise<ReadonlyMap<string, string>> {
  const { output } = await runSuite(['server', '--url', url, '--requirements', revision]);
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
    return {
      scenario: `${name} through the gateway on ${revision}`,
      passed: found === expected,
      checks: expected,
      issues: found === expected ? [] : [`directly ${expected}, through the gateway ${found}`],
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
