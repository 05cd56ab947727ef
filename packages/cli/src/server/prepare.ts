/** Checks everything that can be checked before anything is opened: settings, the modules they name, and the rules between them. */
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
  type OptionReport,
} from '@portcullis/authorization-server/options';
import { defineServers, type GatewayServer, resourcesOf } from '@portcullis/gateway/options';
import { collectIssues, SettingsError } from '../errors.ts';
import { loadWorkspaces } from '../settings/modules.ts';
import { formatIssues, type ResolvedSettings, readSettings, type Sources } from '../settings/resolve.ts';
import { type NameOf, type Settings, titleOf } from '../settings/schema.ts';
import { loadApplication, type ProtectedApplication } from './application.ts';
import { withEgressProxy } from './egress.ts';
import { findExistingKey, findPreviousKeys } from './master-key.ts';
import { readCertificate } from './transport.ts';

export interface Prepared {
  readonly settings: Settings;
  /** `null` if tokens are only for remote servers. */
  readonly application: ProtectedApplication | null;
  /** The servers behind the gateway at a public URL. */
  readonly serversAt: (issuer: string) => readonly GatewayServer[];
  readonly findWorkspaces: FindWorkspaces | null;
  readonly identityProviders: readonly { readonly id: string; readonly name: string }[];
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
  // One after another, so that issues have one order.
  const application =
    settings.app === null
      ? null
      : await collectIssues(issues, () => loadApplication(settings.app ?? '', folder, nameOf('app')));
  const findWorkspaces = await collectIssues(issues, () => loadWorkspaces(settings, folder, nameOf));
  if (settings.app !== null && application === null) report.markUnread(['app']);
  await collectIssues(issues, () => readCertificate(settings, folder, nameOf));
  await collectIssues(issues, () => findExistingKey(settings, folder, 'or none', nameOf));
  await collectIssues(issues, () => findPreviousKeys(settings, folder, nameOf));
  checkFirstAccount(settings, report);
  const serversAt = (issuer: string, issuesOf = createOptionReport(report.unread)) =>
    defineServers(settings.servers, { publicUrl: issuer, folder }, issuesOf);
  serversAt('http://localhost', report);
  const prepared = { settings, application, serversAt, findWorkspaces, nameOf, configFile };
  const { identityProviders, issues: ruleIssues } = checkRules(prepared, resolved);
  const all = [...formatIssues(resolved), ...issues, ...ruleIssues];
  if (all.length > 0) throw new SettingsError([...new Set(all)]);
  return { ...prepared, identityProviders };
}

function checkFirstAccount({ bootstrapEmail, bootstrapPassword }: Settings, report: OptionReport): void {
  if (bootstrapEmail === null || bootstrapPassword === null) return;
  const { email, password } = findFirstAccountIssues(bootstrapEmail, bootstrapPassword);
  if (email !== null) report.add(['bootstrapEmail'], email);
  if (password !== null) report.add(['bootstrapPassword'], password);
}

const NOTHING_PROTECTED = `${titleOf('app')} must name the module of the server to protect, such as server.ts; or list MCP servers as servers, or remote servers as resources, in the configuration file; or run \`portcullis protect <url>\``;

/** Applies the authorization server's rules and reports their issues under the names of the settings. */
function checkRules(
  prepared: Omit<Prepared, 'identityProviders'>,
  { report, nameOf }: ResolvedSettings,
): Pick<Prepared, 'identityProviders'> & { readonly issues: readonly string[] } {
  const { settings, application } = prepared;
  const applications = application === null ? 0 : 1;
  const offset = applications + settings.servers.length;
  const isUnknown =
    report.isUnread('app') ||
    (report.isUnread('servers') && settings.servers.length === 0) ||
    (report.isUnread('resources') && settings.resources.length === 0);
  const isEmpty = application === null && settings.resources.length + settings.servers.length === 0;
  const rules = createOptionReport(report.unread.map(([name = '', ...path]) => shift(name, path, offset)));
  if (report.isUnread('app') || report.isUnread('servers') || isEmpty)
    rules.markUnread(['resources', MORE_RESOURCES]);
  // The port is not known yet, and no rule depends on it.
  const { identityProviders } = applyRules(
    { ...settings, ...serverOptions(prepared, settings.publicUrl ?? 'http://localhost') } as Parameters<
      typeof applyRules
    >[0],
    rules,
  );
  const placed = rules.issues.map(({ path: [name = '', ...path], message }) => {
    const [index = '', ...member] = path;
    if (name !== 'resources' || !(Number(index) < offset))
      return { path: shift(name, path, -offset), message };
    return Number(index) < applications
      ? { path: ['app'], message: `app.${member.join('.')}: ${message}` }
      : { path: ['servers', String(Number(index) - applications), ...member], message };
  });
  const issues = formatIssues({ report: { ...rules, issues: placed }, issues: [], nameOf });
  return {
    identityProviders: [...identityProviders.values()],
    issues: [...(isEmpty && !isUnknown ? [NOTHING_PROTECTED] : []), ...issues],
  };
}

/** Shifts indexes: the application and the servers come first among the resources, but not in the setting `resources`. */
function shift(name: string, [index, ...path]: readonly string[], offset: number): readonly string[] {
  if (index === undefined) return [name];
  return name === 'resources' ? [name, String(Number(index) + offset), ...path] : [name, index, ...path];
}

/** The options of the authorization server, besides its store and keys. */
export type CommandServerOptions = Omit<
  AuthorizationServerOptions,
  'store' | 'masterKey' | 'previousMasterKeys' | 'events' | 'clock'
>;

export function serverOptions(
  {
    settings,
    application,
    serversAt,
    findWorkspaces,
  }: Pick<Prepared, 'settings' | 'application' | 'serversAt' | 'findWorkspaces'>,
  issuer: string,
): CommandServerOptions {
  const { name, externalUi, clients, identityProviders, profiles, brand, registration, metadataDocuments } =
    settings;
  const { localAccounts, metadata, outbound, lifetimes, keys, statusLists, rateLimits } = settings;
  const { acceptNewerRefreshTokens, offerOtherScopes, personalAccessTokens, requireDpopNonces } = settings;
  const { assertionIssuers, assertionAudiences, deviceAuthorization } = settings;
  const { privateUseSchemes, auditRetention, auditLevel, resources } = settings;
  return {
    issuer,
    ...(name !== null && name !== undefined && { name }),
    resources: [
      ...(application === null ? [] : [applicationResource(application, issuer)]),
      ...resourcesOf(serversAt(issuer)),
      ...resources,
    ],
    identityProviders: identityProviders as NonNullable<AuthorizationServerOptions['identityProviders']>,
    ...{ clients, profiles, brand, registration, metadataDocuments, localAccounts, metadata, outbound },
    ...{ assertionIssuers, assertionAudiences, deviceAuthorization },
    ...{
      lifetimes,
      acceptNewerRefreshTokens,
      offerOtherScopes,
      keys,
      statusLists,
      personalAccessTokens,
      requireDpopNonces,
      rateLimits,
      privateUseSchemes,
      auditRetention,
      auditLevel,
    },
    ...(externalUi !== null && externalUi !== undefined && { externalUi }),
    ...(findWorkspaces !== null && { workspaces: findWorkspaces }),
  };
}

/** The application in this process: its guard asks the server itself, so that a revocation takes effect at once. */
function applicationResource(
  {
    name,
    path,
    scopes,
    translations,
    defaultScopes,
    requiredScopes,
    hierarchy,
    claims,
  }: ProtectedApplication,
  issuer: string,
): ResourceDefinition {
  return {
    resource: `${new URL(issuer).origin}${path}`,
    name,
    scopes,
    ...(translations && { translations }),
    ...(defaultScopes && { defaultScopes }),
    ...(requiredScopes && { requiredScopes }),
    ...(hierarchy && { hierarchy }),
    ...(claims && { claims }),
    revocationDelay: 0,
  };
}
