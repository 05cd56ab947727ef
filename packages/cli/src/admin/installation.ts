/** Finds the installation to administer: from the command's settings, its folder, or a running server. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { OptionReport } from '@portcullis/authorization-server/options';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { findRunningServers, type RunningServer } from '../server/run-file.ts';
import { locationOf } from '../server/storage.ts';
import { readValidSettings, resolveSettings } from '../settings/resolve.ts';
import { type SettingName, type Settings, titleOf } from '../settings/schema.ts';
import { cleanLine } from '../terminal/clean.ts';

type Flags = Readonly<Partial<Record<SettingName, string>>>;
type Context = Pick<ProcessContext, 'environment' | 'folder' | 'complain'>;

export interface Installation {
  readonly settings: Settings;
  /** Paths in the settings that could not be read, because the command needs no secrets there. */
  readonly unread: OptionReport['unread'];
  /** Base of relative paths in the settings. */
  readonly folder: string;
  /** Whether the command names the database, or a running server does. */
  readonly isNamed: boolean;
}

/**
 * Finds the installation by the command's settings. Missing settings default to those of a running server that matches the
 * rest, with a notice on standard error.
 *
 * Secrets of a configuration are often in variables that only the server has, so a command names the settings whose secrets it uses.
 * @throws SettingsError with every issue, or if several running servers are possible
 */
export async function findInstallation(
  flags: object,
  context: Context,
  needed: readonly SettingName[] = [],
): Promise<Installation> {
  const own = await readOwn(flags, context);
  const useOwn = async (installation: Installation) => {
    await resolveSettings({ ...context, flags: own.flags, needed });
    return installation;
  };
  const servers = await findRunningServers(context.environment);
  const candidates = servers.filter((server) => isPossible(server, own));
  const [server] = candidates;
  if (server === undefined) return useOwn(fromFolder(own, servers, context));
  if (new Set(candidates.map(({ url, database }) => `${url} ${database}`)).size > 1) {
    throw new SettingsError([
      `several servers are running: name the database and the URL of one, with ${titleOf('database')} and ${titleOf('publicUrl')}`,
      ...describeAll(candidates),
    ]);
  }
  if (own.isSet('database') && hasUrl(own)) return useOwn(own);
  context.complain(`using the running server ${describe(server)}`);
  const found = own.isSet('database')
    ? await useOwn(own)
    : await withSettingsOf(server, own, { ...context, needed });
  return { ...found, settings: { ...found.settings, ...(!hasUrl(own) && { publicUrl: server.url }) } };
}

/** The installation according to the command's settings. */
interface Own extends Installation {
  readonly flags: Flags;
  /** An absolute path; `null` if the command names none. */
  readonly config: string | null;
  /** Whether the command sets this setting by any source. */
  readonly isSet: (name: SettingName) => boolean;
}

async function readOwn(given: object, { environment, folder }: Context): Promise<Own> {
  const flags: Flags = given;
  const resolved = await readValidSettings({ flags, environment, folder, needed: [] });
  const { settings, configFile: config, isSet, report } = resolved;
  return { settings, unread: report.unread, folder, isNamed: isSet('database'), flags, config, isSet };
}

/** Whether the command names the URL for its links. With port 0 it is unknown. */
function hasUrl({ isSet, settings }: Own): boolean {
  return isSet('publicUrl') || (isSet('port') && settings.port !== 0);
}

/** Whether a server matches the command's settings, and the folder contains no other installation. */
function isPossible(server: RunningServer, own: Own): boolean {
  const { settings, folder, config, isSet } = own;
  if (isSet('publicUrl') && settings.publicUrl !== server.url) return false;
  if (isSet('port') && settings.port !== 0 && settings.port !== server.port) return false;
  if (locationOf(settings, folder) === server.database) return true;
  if (isSet('database') || existsSync(resolve(folder, settings.database))) return false;
  return config === null || config === server.config;
}

/** Without a running server: the configured database, or that of this folder, which other servers do not use. */
function fromFolder(own: Own, servers: readonly RunningServer[], { complain }: Context): Installation {
  const location = locationOf(own.settings, own.folder);
  if (!own.isSet('database') && servers.length > 0 && existsSync(location)) {
    const links = hasUrl(own)
      ? ''
      : `, whose server is not running: name its URL for links with ${titleOf('publicUrl')}`;
    const [first = '', ...others] = describeAll(servers);
    const running =
      others.length === 0
        ? `running: ${first}`
        : `${others.length + 1} servers are running, see portcullis status`;
    complain(`using the database ${cleanLine(location)}${links}; ${running}`);
  }
  return own;
}

/** Reads the server's settings, overridden by the command's. */
async function withSettingsOf(
  server: RunningServer,
  own: Own,
  { environment, needed }: Context & { readonly needed: readonly SettingName[] },
): Promise<Installation> {
  const theirs = await environmentOf(server);
  const { folder } = server;
  const config = own.config ?? server.config;
  const { settings, report } = await readValidSettings({
    flags: { ...own.flags, ...(config !== null && { config }) },
    environment: { ...theirs, ...environment },
    folder,
    needed,
  });
  const isSame = locationOf(settings, folder) === server.database;
  const fileOf = (name: 'keyFile' | 'previousKeyFile', otherwise: string | null) =>
    own.isSet(name) ? resolve(own.folder, own.settings[name] ?? '') : otherwise;
  return {
    settings: {
      ...settings,
      database: withPassword(isSame ? settings.database : server.database, theirs, environment),
      keyFile: fileOf('keyFile', server.keyFile),
      previousKeyFile: fileOf('previousKeyFile', settings.previousKeyFile),
    },
    unread: report.unread,
    folder,
    isNamed: true,
  };
}

/**
 * The environment of a running server, which has its settings and the secrets they name; empty if the system does not expose it.
 * @see proc_pid_environ(5)
 */
async function environmentOf({ pid }: RunningServer): Promise<Context['environment']> {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  const variables = text.split('\0').map((line) => {
    const end = line.indexOf('=');
    return [line.slice(0, end), line.slice(end + 1)] as const;
  });
  return Object.fromEntries(variables);
}

/** Adds the server's password to the database URL, unless the URL or this process has one. */
function withPassword(
  database: string,
  { PGPASSWORD: password = '' }: Context['environment'],
  { PGPASSWORD: own = '' }: Context['environment'],
): string {
  if (password === '' || own !== '' || !/^postgres(?:ql)?:/i.test(database)) return database;
  const url = new URL(database);
  if (url.password === '') url.password = encodeURIComponent(password);
  return url.href;
}

/** Each server once, however many processes it has. */
function describeAll(servers: readonly RunningServer[]): readonly string[] {
  return [...new Set(servers.map(describe))];
}

function describe({ url, database }: RunningServer): string {
  return cleanLine(`${url} (database ${database})`);
}
