/** The servers of the configuration, for commands that look at them without serving. */
import type { PolicySources } from '@portcullis/admin/operations';
import { createAccountAdministration } from '@portcullis/authorization-server';
import { createOptionReport } from '@portcullis/authorization-server/options';
import { checkConditions, defineServers, type GatewayServer } from '@portcullis/gateway/options';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import type { SettingName } from '../settings/schema.ts';
import { cleanLine } from '../terminal/clean.ts';
import { findInstallation, type Installation } from './installation.ts';
import { issuerOf, withStore } from './with-store.ts';

/** The installation of a command, and its servers. */
export interface ConfiguredServers {
  readonly installation: Installation;
  /** At least one. */
  readonly servers: readonly GatewayServer[];
}

/**
 * @param needed settings whose secrets the command uses
 * @throws SettingsError with every issue of the servers, or if there are none
 */
export async function findServers(
  flags: object,
  processContext: ProcessContext,
  needed: readonly SettingName[] = [],
): Promise<ConfiguredServers> {
  const installation = await findInstallation(flags, processContext, needed);
  const { settings, unread, folder } = installation;
  const report = createOptionReport(unread);
  const servers = defineServers(settings.servers, { publicUrl: issuerOf(settings), folder }, report);
  await checkConditions(settings.servers, report);
  if (report.issues.length > 0)
    throw new SettingsError(report.issues.map(({ path, message }) => `${path.join('.')} ${message}`));
  if (servers.length === 0)
    throw new SettingsError([
      'no servers are configured: name the configuration file with --config; `portcullis status` shows running servers, also those of `portcullis protect`, with the states of their backends',
    ]);
  return { installation, servers };
}

/** Runs a task that explains decisions about these servers, with the users of the database. */
export function withPolicySources<T>(
  { installation, servers }: ConfiguredServers,
  task: (sources: PolicySources) => Promise<T>,
): Promise<T> {
  const issuer = issuerOf(installation.settings);
  return withStore(installation, (tools) =>
    task({
      ...{ ...tools, issuer, servers: () => servers },
      accounts: createAccountAdministration({ ...tools, issuer }),
    }),
  );
}

/** @throws SettingsError that names the servers, if there is none at the path */
export function serverAt(servers: readonly GatewayServer[], path: string): GatewayServer {
  const found = servers.find((server) => server.path === path);
  if (found !== undefined) return found;
  const known = servers.map((server) => server.path).join(', ');
  throw new SettingsError([`there is no server at ${cleanLine(path)}; there are ${known}`]);
}
