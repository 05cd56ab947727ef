/** Everything that can be judged before anything is opened: settings, the modules that they name, and what they make together. */
import {
  type AuthorizationServerOptions,
  type FindWorkspaces,
  faultsOfFirstAccount,
  faultsOfOptions,
  type Pages,
  type ResourceDefinition,
} from '@portcullis/authorization-server';
import { loadApplication, type ProtectedApplication } from '../application.ts';
import { collecting, SettingsError } from '../faults.ts';
import { loadPages, loadWorkspaces } from './modules.ts';
import { type FoundSettings, findSettings, type Sources } from './resolve.ts';
import { type SettingName, type Settings, variableOf } from './settings.ts';
import { settingNames, titleOf } from './table.ts';

export interface Prepared {
  readonly settings: Settings;
  /** `null`: tokens are for servers elsewhere only. */
  readonly application: ProtectedApplication | null;
  readonly pages: Pages | null;
  readonly findWorkspaces: FindWorkspaces | null;
  /** A setting as the operator said it: by its variable, with its flag, or in the file. */
  readonly nameOf: FoundSettings['nameOf'];
}

/** @throws SettingsError with every fault */
export async function prepare(sources: Sources): Promise<Prepared> {
  const found = await findSettings(sources);
  const { settings } = found;
  const { folder } = sources;
  const faults = [...found.faults];
  const [application, pages, findWorkspaces] = await Promise.all([
    settings.app === null ? null : collecting(faults, () => loadApplication(settings.app ?? '', folder)),
    collecting(faults, () => loadPages(settings, folder)),
    collecting(faults, () => loadWorkspaces(settings, folder)),
  ]);
  const prepared = { settings, application, pages, findWorkspaces, nameOf: found.nameOf };
  faults.push(...judge(prepared, found.unread));
  if (faults.length > 0) throw new SettingsError([...new Set(faults)]);
  return prepared;
}

function judge(prepared: Prepared, unread: FoundSettings['unread']): readonly string[] {
  const { settings, application } = prepared;
  const { bootstrapEmail: email, bootstrapPassword: password, app } = settings;
  const faults = faultsOfAccount(email, password, prepared.nameOf);
  if (application === null && settings.resources.length === 0) {
    const isKnown = app === null && !unread.has('app') && !unread.has('resources');
    return isKnown ? [...faults, NOTHING_PROTECTED] : faults;
  }
  return [
    ...faults,
    ...faultsOfOptions(serverOptions(prepared, anyIssuer(settings)))
      .filter((fault) => !restsOnUnread(fault, unread))
      .map((fault) => nameSetting(fault, prepared)),
  ];
}

/** What is judged by what else is said. */
const RESTS_ON: Readonly<Record<string, readonly SettingName[]>> = {
  localAccounts: ['thirdParties'],
  thirdParties: ['resources', 'app'],
  clients: ['resources', 'app'],
  resources: ['clients'],
};

/** Whether a fault may be none: it rests on a setting that is at fault itself. */
function restsOnUnread(fault: string, unread: FoundSettings['unread']): boolean {
  const [, name = ''] = /^(\w+)/.exec(fault) ?? [];
  return (RESTS_ON[name] ?? []).some((other) => unread.has(other));
}

const NOTHING_PROTECTED = `${titleOf('app')} must name the module of the server to protect, such as server.ts, or resources in the configuration file the servers elsewhere`;

/** The port is not known yet, and does not matter to what is judged. */
function anyIssuer({ publicUrl }: Settings): string {
  return publicUrl ?? 'http://localhost';
}

function faultsOfAccount(
  email: string | null,
  password: string | null,
  nameOf: Prepared['nameOf'],
): readonly string[] {
  if (email === null || password === null) return [];
  const { email: aboutEmail, password: aboutPassword } = faultsOfFirstAccount(email, password);
  return [
    ...(aboutEmail === null ? [] : [`${nameOf('bootstrapEmail')} ${aboutEmail}`]),
    ...(aboutPassword === null ? [] : [`${nameOf('bootstrapPassword')} ${aboutPassword}`]),
  ];
}

/** What the authorization server is told, besides its store and keys. */
export type ServerOptions = Omit<
  AuthorizationServerOptions,
  'store' | 'sealingKey' | 'previousSealingKeys' | 'events'
>;

export function serverOptions(
  { settings, application, pages, findWorkspaces }: Prepared,
  issuer: string,
): ServerOptions {
  const { name, profiles, headless, keepEvents } = settings;
  return {
    issuer,
    ...(name !== null && { name }),
    resources: [
      ...(application === null ? [] : [ownResource(application, issuer)]),
      ...settings.resources.map(({ url, ...rest }) => ({ resource: url, ...rest })),
    ],
    localAccounts: settings.localAccounts,
    thirdParties: settings.thirdParties,
    clients: settings.clients,
    ...(profiles !== null && { profiles }),
    metadata: settings.metadata,
    registration: settings.registration,
    metadataDocuments: settings.metadataDocuments,
    outbound: settings.outbound,
    brand: settings.brand,
    ...(pages !== null && { pages }),
    ...(headless !== null && { headless }),
    ...(findWorkspaces !== null && { workspaces: findWorkspaces }),
    lifetimes: settings.lifetimes,
    keys: settings.keys,
    statusLists: settings.statusLists,
    limits: settings.limits,
    privateUseSchemes: settings.privateUseSchemes,
    keepEvents: keepEvents === 0 ? false : keepEvents,
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
    endsWithin: 0,
  };
}

/** The authorization server names its own options: tells by which setting each is decided. */
export function nameSetting(fault: string, { application }: Pick<Prepared, 'application'>): string {
  if (fault.startsWith('issuer')) return fault.replace('issuer', titleOf('publicUrl'));
  if (fault.startsWith('sealingKey')) {
    return `${titleOf('key')} or ${titleOf('keyFile')}: ${fault.replace('sealingKey', 'the sealing key')}`;
  }
  if (fault.startsWith('resources.')) return nameResource(fault, application);
  const named = settingNames.some((name: SettingName) => new RegExp(`^${name}\\b`).test(fault));
  return named ? fault : `${variableOf('config')}: ${fault}`;
}

/** The application stands before the others, and is no part of the setting. */
function nameResource(fault: string, application: ProtectedApplication | null): string {
  const [, index = '', rest = ''] = /^resources\.(\d+)(.*)$/s.exec(fault) ?? [];
  const place = Number(index) - (application === null ? 0 : 1);
  const said = rest.replace(/^\.resource\b/, '.url');
  return place < 0 ? `${titleOf('app')}: app${said}` : `resources.${place}${said}`;
}
