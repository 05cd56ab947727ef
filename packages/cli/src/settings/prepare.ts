/** Everything that can be judged before anything is opened: settings, the modules that they name, and what they make together. */
import {
  type AuthorizationServerOptions,
  type FindWorkspaces,
  findFirstAccountIssues,
  type ResourceDefinition,
} from '@portcullis/authorization-server';
import { loadApplication, type ProtectedApplication } from '../application.ts';
import { collecting, SettingsError } from '../faults.ts';
import { findExistingKey, findPreviousKeys } from '../sealing-key.ts';
import { readCertificate } from '../transport.ts';
import { loadWorkspaces } from './modules.ts';
import { type FoundSettings, findSettings, type Sources } from './resolve.ts';
import type { Settings } from './settings.ts';
import { titleOf } from './table.ts';
import { issuesOfServer } from './verdict.ts';

export interface Prepared {
  readonly settings: Settings;
  /** `null`: tokens are for servers elsewhere only. */
  readonly application: ProtectedApplication | null;
  readonly findWorkspaces: FindWorkspaces | null;
  /** A setting as the operator said it: the flag, the variable, or the key in the file. */
  readonly nameOf: FoundSettings['nameOf'];
}

/** @throws SettingsError with every fault */
export async function prepare(sources: Sources): Promise<Prepared> {
  const found = await findSettings(sources);
  const { settings, nameOf } = found;
  const { folder } = sources;
  const issues = [...found.issues];
  const [application, findWorkspaces] = await Promise.all([
    settings.app === null
      ? null
      : collecting(issues, () => loadApplication(settings.app ?? '', folder, nameOf('app'))),
    collecting(issues, () => loadWorkspaces(settings, folder, nameOf)),
  ]);
  await judgeFiles(settings, folder, nameOf, issues);
  const prepared = { settings, application, findWorkspaces, nameOf };
  const isLost = settings.app !== null && application === null;
  issues.push(...judge(prepared, isLost ? [...found.unread, 'app'] : found.unread));
  if (issues.length > 0) throw new SettingsError([...new Set(issues)]);
  return prepared;
}

/** Files that are there are read already: they are opened for good when the program starts. */
async function judgeFiles(
  settings: Settings,
  folder: string,
  nameOf: Prepared['nameOf'],
  issues: string[],
): Promise<void> {
  await collecting(issues, () => readCertificate(settings, folder, nameOf));
  await collecting(issues, () => findExistingKey(settings, folder, 'or none', nameOf));
  await collecting(issues, () => findPreviousKeys(settings, folder, nameOf));
}

function judge(prepared: Prepared, unread: readonly string[]): readonly string[] {
  const { settings, application, nameOf } = prepared;
  const { bootstrapEmail: email, bootstrapPassword: password } = settings;
  const isOpen = unread.includes('app') || unread.includes('resources');
  const isEmpty = application === null && settings.resources.length === 0;
  return [
    ...issuesOfAccount(email, password, nameOf),
    ...(isEmpty && !isOpen ? [NOTHING_PROTECTED] : []),
    ...issuesOfServer(serverOptions(prepared, anyIssuer(settings)), {
      hasApplication: application !== null,
      // What has been said already is not said again by what follows from it.
      unread: isEmpty ? [...unread, 'resources'] : unread,
      nameOf,
    }),
  ];
}

const NOTHING_PROTECTED = `${titleOf('app')} must name the module of the server to protect, such as server.ts, or resources in the configuration file the servers elsewhere`;

/** The port is not known yet, and does not matter to what is judged. */
function anyIssuer({ publicUrl }: Settings): string {
  return publicUrl ?? 'http://localhost';
}

function issuesOfAccount(
  email: string | null,
  password: string | null,
  nameOf: Prepared['nameOf'],
): readonly string[] {
  if (email === null || password === null) return [];
  const { email: aboutEmail, password: aboutPassword } = findFirstAccountIssues(email, password);
  return [
    ...(aboutEmail === null ? [] : [`${nameOf('bootstrapEmail')} ${aboutEmail}`]),
    ...(aboutPassword === null ? [] : [`${nameOf('bootstrapPassword')} ${aboutPassword}`]),
  ];
}

/** What the authorization server is told, besides its store and keys. */
export type ServerOptions = Omit<
  AuthorizationServerOptions,
  'store' | 'masterKey' | 'previousMasterKeys' | 'events'
>;

export function serverOptions(
  { settings, application, findWorkspaces }: Prepared,
  issuer: string,
): ServerOptions {
  const { name, profiles, externalUi: headless, auditRetention } = settings;
  return {
    issuer,
    ...(name !== null && { name }),
    resources: [
      ...(application === null ? [] : [ownResource(application, issuer)]),
      ...settings.resources.map(({ url, ...rest }) => ({ resource: url, ...rest })),
    ],
    localAccounts: settings.localAccounts,
    identityProviders: settings.identityProviders,
    clients: settings.clients,
    ...(profiles !== null && { profiles }),
    metadata: settings.metadata,
    registration: settings.registration,
    metadataDocuments: settings.metadataDocuments,
    outbound: settings.outbound,
    brand: settings.brand,
    ...(headless !== null && { externalUi: headless }),
    ...(findWorkspaces !== null && { workspaces: findWorkspaces }),
    lifetimes: settings.lifetimes,
    keys: settings.keys,
    statusLists: settings.statusLists,
    rateLimits: settings.rateLimits,
    privateUseSchemes: settings.privateUseSchemes,
    auditRetention: auditRetention === 0 ? false : auditRetention,
  };
}

/** The application in this process: its guard asks the server itself, so that ended access ends at once. */
function ownResource(
  { name, path, scopes, translations, defaultScopes, requiredScopes, hierarchy }: ProtectedApplication,
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
    revocationDelay: 0,
  };
}
