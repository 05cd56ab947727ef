/** Validates the settings, the modules they name, and the rules between them, before opening anything. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { adminResourcesOf, transmitterResourceOf } from '@portcullis/admin/options';
import {
  type AuthorizationServerOptions,
  type FindWorkspaces,
  findFirstAccountIssues,
  type ResourceDefinition,
} from '@portcullis/authorization-server';
import {
  applyRules,
  createOptionReport,
  MORE_RESOURCES,
  type OptionIssue,
  type OptionReport,
} from '@portcullis/authorization-server/options';
import {
  checkConditions,
  defineDecisionPoint,
  defineServers,
  type GatewayServer,
  resourcesOf,
} from '@portcullis/gateway/options';
import { collectIssues, SettingsError } from '../errors.ts';
import { loadWorkspaces } from '../settings/modules.ts';
import { formatIssues, type ResolvedSettings, readSettings, type Sources } from '../settings/resolve.ts';
import { issuerAt, type NameOf, type Settings, serverOptionsOf, titleOf } from '../settings/schema.ts';
import { loadApplication, type ProtectedApplication } from './application.ts';
import { withEgressProxy } from './egress.ts';
import { findKeyIfAny, findPreviousKeys } from './master-key.ts';
import { checkServerPaths } from './server-paths.ts';
import { readCertificate } from './transport.ts';
import { type CheckedProvider, findWarnings } from './warnings.ts';

export interface Prepared {
  readonly settings: Settings;
  /** `null` if tokens are only for remote servers. */
  readonly application: ProtectedApplication | null;
  /** The servers behind the gateway at a public URL. */
  readonly serversAt: (issuer: string) => readonly GatewayServer[];
  readonly findWorkspaces: FindWorkspaces | null;
  readonly identityProviders: readonly CheckedProvider[];
  /** About settings that are valid but probably not intended. */
  readonly warnings: readonly string[];
  readonly nameOf: NameOf;
  /** Absolute path of the configuration file; `null` if there is none. */
  readonly configFile: string | null;
}

/** @throws SettingsError with every issue */
export async function prepare(sources: Sources): Promise<Prepared> {
  const resolved = withEgressProxy(await readSettings(sources), sources.environment);
  const { settings, report, nameOf, configFile } = resolved;
  const { folder } = sources;
  const issues: string[] = [];
  // Sequential, for a deterministic order of issues.
  const application =
    settings.app === null
      ? null
      : await collectIssues(issues, () => loadApplication(settings.app ?? '', folder, nameOf('app')));
  const findWorkspaces = await collectIssues(issues, () => loadWorkspaces(settings, folder, nameOf));
  if (settings.app !== null && application === null) report.markUnread(['app']);
  await collectIssues(issues, () => readCertificate(settings, folder, nameOf));
  const key = await collectIssues(issues, () => findKeyIfAny(settings, folder, nameOf));
  const previousKeys = await collectIssues(issues, () => findPreviousKeys(settings, folder, nameOf));
  if (!report.isUnread('servers') && !report.isUnread('app'))
    await collectIssues(issues, () => checkServerPaths(settings, application, []));
  checkFirstAccount(settings, report);
  checkReceivers(settings, report);
  for (const name of ['mail', 'sharedSignals'] as const)
    if (settings[name] !== null && settings.auditRetention === false)
      report.add([name], 'must not be set while auditRetention is false: it is sent from the audit log');
  const serversAt = (issuer: string, issuesOf = createOptionReport(report.unread)) =>
    defineServers(settings.servers, { publicUrl: issuer, folder }, issuesOf);
  const servers = serversAt(issuerAt(settings.port, settings), report);
  await checkConditions(settings.servers, report);
  defineDecisionPoint(settings.policy, report);
  const prepared = { settings, application, serversAt, findWorkspaces, nameOf, configFile };
  const { identityProviders, issues: ruleIssues } = checkRules(prepared, resolved, folder);
  const all = [...formatIssues(resolved), ...issues, ...ruleIssues];
  if (all.length > 0) throw new SettingsError([...new Set(all)]);
  const warnings = [
    ...[key, ...(previousKeys ?? [])].flatMap((one) => one?.warning ?? []),
    ...findWarnings({ settings, identityProviders, servers, hidden: resolved.hidden, nameOf }),
  ];
  return { ...prepared, identityProviders, warnings };
}

function checkReceivers({ webhooks, eventExports, auditRetention }: Settings, report: OptionReport): void {
  for (const [name, receivers] of Object.entries({ webhooks, eventExports })) {
    if (receivers.length > 0 && auditRetention === false)
      report.add([name], 'must not be set while auditRetention is false: they deliver the audit log');
  }
  for (const [index, { name }] of eventExports.entries()) {
    if (webhooks.some((webhook) => webhook.name === name))
      report.add(['eventExports', String(index), 'name'], 'is the name of a webhook');
  }
}

function checkFirstAccount({ bootstrapEmail, bootstrapPassword }: Settings, report: OptionReport): void {
  if (bootstrapEmail === null || bootstrapPassword === null) return;
  const { email, password } = findFirstAccountIssues(bootstrapEmail, bootstrapPassword);
  if (email !== null) report.add(['bootstrapEmail'], email);
  if (password !== null) report.add(['bootstrapPassword'], password);
}

/** A file of the usual name is not read unasked, because a folder from elsewhere may contain one. */
function nothingProtected(configFile: string | null, folder: string): string {
  const isUnread = configFile === null && existsSync(join(folder, 'portcullis.json'));
  const file = isUnread ? '--config portcullis.json for the one in this folder' : '--config <file>';
  return `There is nothing to protect: run \`portcullis protect <url>\`, or list MCP servers as servers, or servers elsewhere as resources, in a configuration file (${file}); ${titleOf('app')} names the module of a server in this process`;
}

/** Applies the authorization server's rules and reports their issues under the names of the settings. */
function checkRules(
  prepared: Omit<Prepared, 'identityProviders' | 'warnings'>,
  { report, nameOf, configFile }: ResolvedSettings,
  folder: string,
) {
  const { settings, application } = prepared;
  // Port 0, any free one, is not known yet: it is no other URL's port either.
  const issuer = issuerAt(settings.port, settings);
  const locations = locationsOfResources(prepared, issuer);
  const isUnknown =
    report.isUnread('app') ||
    (report.isUnread('servers') && settings.servers.length === 0) ||
    (report.isUnread('resources') && settings.resources.length === 0);
  const isEmpty = application === null && settings.resources.length + settings.servers.length === 0;
  const rules = createOptionReport(report.unread.map((path) => toResource(path, locations)));
  if (report.isUnread('app') || report.isUnread('servers') || isEmpty)
    rules.markUnread(['resources', MORE_RESOURCES]);
  const options = { ...settings, ...serverOptions(prepared, issuer) };
  const { identityProviders } = applyRules(options as Parameters<typeof applyRules>[0], rules);
  const placed = rules.issues.map((issue) => fromResource(issue, locations));
  const issues = formatIssues({ report: { ...rules, issues: placed }, issues: [], nameOf });
  return {
    identityProviders: [...identityProviders.values()],
    issues: [...(isEmpty && !isUnknown ? [nothingProtected(configFile, folder)] : []), ...issues],
  };
}

type Path = readonly string[];

/** The setting path of each resource of the authorization server: `['servers', '0']`. */
function locationsOfResources(
  { settings, application, serversAt }: Composed,
  issuer: string,
): readonly Path[] {
  const indexOf = (path: string) => settings.servers.findIndex((server) => server?.path === path);
  return [
    ...(application === null ? [] : [['app']]),
    ...serversAt(issuer).map(({ path }) => ['servers', String(indexOf(path))]),
    ...settings.resources.map((_, index) => ['resources', String(index)]),
  ];
}

/** The path of a setting among the options of the authorization server. */
function toResource(path: Path, locations: readonly Path[]): Path {
  const at = locations.findIndex((location) => location[0] === 'resources' && location[1] === path[1]);
  return path[0] !== 'resources' || at < 0 ? path : ['resources', String(at), ...path.slice(2)];
}

/** The issue of an option under the path of the setting. */
function fromResource({ path, message }: OptionIssue, locations: readonly Path[]): OptionIssue {
  const [name, index = '', ...member] = path;
  const location = name === 'resources' ? locations[Number(index)] : undefined;
  if (location === undefined) return { path, message };
  const isOwn = location[0] === 'app';
  return isOwn
    ? { path: location, message: `app.${member.join('.')}: ${message}` }
    : { path: [...location, ...member], message };
}

/** The options of the authorization server, besides its store and keys. */
export type CommandServerOptions = Omit<
  AuthorizationServerOptions,
  'store' | 'masterKey' | 'previousMasterKeys' | 'events' | 'clock'
>;

type Composed = Pick<Prepared, 'settings' | 'application' | 'serversAt' | 'findWorkspaces'>;

export function serverOptions(
  { settings, application, serversAt, findWorkspaces }: Composed,
  issuer: string,
): CommandServerOptions {
  return {
    ...serverOptionsOf(settings),
    issuer,
    resources: [
      ...(application === null ? [] : [applicationResource(application, issuer)]),
      ...resourcesOf(serversAt(issuer)),
      ...settings.resources,
      ...(settings.admin === null ? [] : adminResourcesOf(issuer)),
      ...(settings.sharedSignals === null ? [] : [transmitterResourceOf(issuer)]),
    ],
    ...(findWorkspaces !== null && { workspaces: findWorkspaces }),
  };
}

/** The application in this process: its guard calls the server directly, so revocation is immediate. */
function applicationResource(application: ProtectedApplication, issuer: string): ResourceDefinition {
  const { path, name, scopes, translations, defaultScopes, requiredScopes, hierarchy, claims } = application;
  return {
    ...{ resource: `${new URL(issuer).origin}${path}`, name, scopes, translations },
    ...{ defaultScopes, requiredScopes, hierarchy, claims, revocationDelay: 0 },
  };
}
