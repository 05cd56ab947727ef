/** `portcullis servers`: lists the servers behind the gateway, and tests their backends. */
import { createOptionReport } from '@portcullis/authorization-server/options';
import type { FailedPart, GatewayServer, ServerTest } from '@portcullis/gateway';
import { defineServers } from '@portcullis/gateway/options';
import type { Command } from 'commander';
import { CommandFailure, exitCodes } from '../client/exit-codes.ts';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import type { SettingName } from '../settings/schema.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { findInstallation } from './installation.ts';
import { defineServerReview } from './server-review.ts';
import { addSubcommand } from './subcommand.ts';
import { issuerOf } from './with-store.ts';

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
      const listed = (await findServers(flags, processContext, [])).map(describe);
      const lines = listed.map(({ path, name, backend, credentials, review }) =>
        cleanLine(`${path} (${name}): ${backend}; credentials: ${credentials}; review: ${review}`),
      );
      processContext.write(flags.json ? `${cleanJson(listed)}\n` : lines.map((line) => `${line}\n`).join(''));
    });
  addSubcommand(
    group,
    'test',
    'reach the backend of each server, and say what is wrong',
    undefined,
    'It opens a session with each from this computer, as the gateway does, and lists its tools; it calls none. Exit code 4 if one fails.',
  )
    .argument('[path]', 'only the server at this path')
    .option('--json', 'as JSON')
    .action((path: string | undefined, flags: Flags) => test(path, flags, processContext));
  defineServerReview(group, processContext);
}

/** @throws SettingsError if no server is configured, or none at the path */
async function findServers(
  flags: Flags,
  processContext: ProcessContext,
  needed: readonly SettingName[],
  path?: string,
): Promise<readonly GatewayServer[]> {
  const { settings, unread, folder } = await findInstallation(flags, processContext, needed);
  const report = createOptionReport(unread);
  const servers = defineServers(settings.servers, { publicUrl: issuerOf(settings), folder }, report);
  if (report.issues.length > 0)
    throw new SettingsError(report.issues.map(({ path, message }) => `${path.join('.')} ${message}`));
  if (servers.length === 0)
    throw new SettingsError(['no servers are configured: name the configuration file with --config']);
  const found = path === undefined ? servers : servers.filter((server) => server.path === path);
  if (found.length > 0) return found;
  const known = servers.map((server) => server.path).join(', ');
  throw new SettingsError([`there is no server at ${cleanLine(path ?? '')}; there are ${known}`]);
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
  const servers = await findServers(flags, processContext, ['servers'], path);
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
