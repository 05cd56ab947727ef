/** `portcullis servers`: lists the servers behind the gateway, and tests their backends. */
import type { FailedPart, GatewayServer, ServerTest } from '@portcullis/gateway';
import type { Command } from 'commander';
import { CommandFailure, exitCodes } from '../client/exit-codes.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { findServers, serverAt } from './configured-servers.ts';
import { defineServerReview } from './server-review.ts';
import { addSubcommand } from './subcommand.ts';

interface Flags {
  readonly json?: true;
}

export function defineServersCommand(program: Command, processContext: ProcessContext): void {
  const group = program
    .command('servers')
    .summary('list and test the servers behind the gateway, and review their tools');
  addSubcommand(group, 'list', 'list the servers of the configuration')
    .option('--json', 'as JSON')
    .action(async (flags: Flags) => {
      const listed = (await findServers(flags, processContext)).servers.map(describe);
      const lines = listed.map(({ path, name, backend, credentials, review }) =>
        cleanLine(`${path} (${name}): ${backend}; credentials: ${credentials}; review: ${review}`),
      );
      processContext.write(flags.json ? `${cleanJson(listed)}\n` : lines.map((line) => `${line}\n`).join(''));
    });
  addSubcommand(
    group,
    'test',
    'reach the backend of each server, and say what is wrong',
    'It opens a session with each from this computer, as the gateway does, and lists its tools; it calls none. Exit code 4 if one fails.',
  )
    .argument('[path]', 'only the server at this path')
    .option('--json', 'as JSON')
    .action((path: string | undefined, flags: Flags) => test(path, flags, processContext));
  defineServerReview(group, processContext);
}

function describe({ path, name, resource, backend, merges, review }: GatewayServer) {
  const credentials =
    backend === null ? 'none' : backend.kind === 'stdio' ? 'environment' : backend.credentials.as;
  return { path, name, resource, backend: describeBackend(backend, merges), credentials, review };
}

function describeBackend(backend: GatewayServer['backend'], merges: GatewayServer['merges']): string {
  if (backend === null) return `merges ${Object.values(merges ?? {}).join(', ')}`;
  if (backend.kind === 'stdio') return backend.command.join(' ');
  return backend.urls.map(({ href }) => href).join(', ');
}

async function test(path: string | undefined, flags: Flags, processContext: ProcessContext): Promise<void> {
  const { testServer } = await import('@portcullis/gateway');
  const { servers: all } = await findServers(flags, processContext, ['servers']);
  const servers = path === undefined ? all : [serverAt(all, path)];
  const results: { readonly path: string; readonly result: ServerTest }[] = [];
  for (const server of servers) {
    if (server.backend === null) continue;
    const result = await testServer(server, server.backend);
    results.push({ path: server.path, result });
    if (!flags.json) processContext.write(`${cleanLine(`${server.path}: ${explain(result)}`)}\n`);
  }
  if (flags.json)
    processContext.write(`${cleanJson(results.map(({ path, result }) => ({ path, ...result })))}\n`);
  if (results.some(({ result }) => !result.ok)) throw new CommandFailure(exitCodes.temporary);
}

const PARTS: Readonly<Record<FailedPart, string>> = {
  backend: 'the backend is down or does not answer',
  protocol: 'the backend does not speak MCP as it should',
  credential: 'the backend rejects the credential of the gateway',
};

function explain(result: ServerTest): string {
  if (!result.ok) return `failed: ${PARTS[result.part]}. ${result.reason}`;
  if (result.tools === null) return 'ok: it responds, and needs the credential of a user';
  return `ok: ${result.tools} tools, revision ${result.revision}`;
}
