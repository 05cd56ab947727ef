/** Resolves settings: flags over environment variables over the configuration file over defaults, with every issue reported. */

import { resolve } from 'node:path';
import {
  createOptionReport,
  formatOptionIssue,
  type OptionReport,
  readOption,
} from '@portcullis/authorization-server/options';
import { findSimilarName, suggestName } from '@portcullis/protocol';
import type * as z from 'zod';
import { SettingsError } from '../errors.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { definitionOf, resolveReferences, unwrap } from './references.ts';
import {
  fileVariableOf,
  flagOf,
  hasFlag,
  isInFile,
  isServerOption,
  type NameOf,
  type SettingName,
  type Settings,
  settingDefinitions,
  settingNames,
  titleOf,
  variableOf,
} from './schema.ts';

/** Sources of settings. */
export interface Sources {
  /** By the names of the settings. */
  readonly flags: Readonly<Partial<Record<SettingName, string>>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Base of relative paths. */
  readonly folder: string;
  /** Settings whose references to secrets and files must resolve; all by default. The others are read without what they lack. */
  readonly needed?: readonly SettingName[];
}

/** A key of the configuration file whose value is not used. */
export interface HiddenKey {
  readonly key: string;
  readonly variable: string;
  readonly file: string;
}

/** Settings, with the issues of those that could not be read. */
export interface ResolvedSettings {
  /** Without unreadable settings. */
  readonly settings: Settings;
  /** Paths begin with the name of a setting. */
  readonly report: OptionReport;
  /** Issues that concern no single setting. */
  readonly issues: readonly string[];
  readonly nameOf: NameOf;
  /** Whether a flag, a variable or the configuration file sets it. */
  readonly isSet: (name: SettingName) => boolean;
  /** Keys of the configuration file in whose place a variable is used. */
  readonly hidden: readonly HiddenKey[];
  /** Absolute path of the configuration file; `null` if there is none. */
  readonly configFile: string | null;
}

/** @throws SettingsError with every issue */
export async function resolveSettings(sources: Sources): Promise<Settings> {
  return (await readValidSettings(sources)).settings;
}

/** @throws SettingsError with every issue */
export async function readValidSettings(sources: Sources): Promise<ResolvedSettings> {
  const resolved = await readSettings(sources);
  const issues = formatIssues(resolved);
  if (issues.length > 0) throw new SettingsError(issues);
  return resolved;
}

/** Each issue under the name by which the operator set the value. */
export function formatIssues({
  report,
  issues,
  nameOf,
}: Pick<ResolvedSettings, 'report' | 'issues' | 'nameOf'>): readonly string[] {
  const formatted = report.issues.map(({ path: [name = '', ...path], message }) =>
    formatOptionIssue(
      nameOf(name as SettingName, path),
      `${message}${isMisplaced(path, message) ? `; beside ${name} there is a setting of this name` : ''}`,
    ),
  );
  return [...issues, ...formatted];
}

/** Whether a setting of its own may have been written into another one. */
function isMisplaced(path: readonly string[], message: string): boolean {
  const names: readonly string[] = settingNames.filter(isInFile);
  return message.startsWith('unknown key; expected') && names.includes(path.at(-1) ?? '');
}

/** Reads every setting. */
export async function readSettings(sources: Sources): Promise<ResolvedSettings> {
  const report = createOptionReport();
  const issues: string[] = [];
  const file = await findFile(sources, report, issues);
  const settings = Object.fromEntries(
    settingNames.map((name) => [
      name,
      name === 'config' ? null : read(name, find(name, sources, file), sources, report),
    ]),
  ) as unknown as Settings;
  issues.push(...checkKeys(file, report), ...checkVariables(sources.environment, report));
  const nameOf: NameOf = (name, path) => nameAs(name, find(name, sources, file), path);
  // What a server needs besides, such as a password in a variable of its own, a command can do without.
  if (sources.needed === undefined) checkPairs(settings, report);
  checkCombinations(settings, report, nameOf);
  const isSet = (name: SettingName) => find(name, sources, file) !== undefined;
  const configFile = file === NO_FILE ? null : resolve(sources.folder, file.name);
  const hidden = findHidden(sources, file);
  return { settings: Object.freeze(settings), report, issues, nameOf, isSet, hidden, configFile };
}

function findHidden(sources: Sources, file: ConfigFile): readonly HiddenKey[] {
  return settingNames.flatMap((key) => {
    const { by = '' } = find(key, sources, file) ?? {};
    const isHidden = by.startsWith(PREFIX) && isInFile(key) && Object.hasOwn(file.content, key);
    return isHidden ? [{ key, variable: by, file: file.name }] : [];
  });
}

const NO_FILE: ConfigFile = { name: '', content: {} };

async function findFile(sources: Sources, report: OptionReport, issues: string[]): Promise<ConfigFile> {
  const value = read('config', find('config', sources, NO_FILE), sources, report);
  if (typeof value !== 'string') return NO_FILE;
  try {
    return await readConfigFile(value, sources.folder, nameAs('config', find('config', sources, NO_FILE)));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    issues.push(...error.issues);
    // The file may set anything.
    for (const name of settingNames) report.markUnread([name]);
    return NO_FILE;
  }
}

/** A value, and how the operator set it. */
interface Found {
  /** The flag or the variable. */
  readonly by: string;
  /** The configuration file, if the value is in it. */
  readonly file: string | null;
  readonly value: unknown;
}

/** The value with the highest precedence. */
function find(
  name: SettingName,
  { flags, environment }: Sources,
  { name: file, content }: ConfigFile,
): Found | undefined {
  const variable = environment[variableOf(name)];
  const fileVariable = fileVariableOf(name);
  const secretFile = fileVariable === null ? '' : (environment[fileVariable] ?? '');
  return [
    { by: flagOf(name), file: null, value: hasFlag(name) ? flags[name] : undefined },
    // An empty variable counts as not set: environment files of container tools cannot leave one out.
    { by: variableOf(name), file: null, value: variable === '' ? undefined : variable },
    { by: fileVariable ?? '', file: null, value: secretFile === '' ? undefined : { file: secretFile } },
    { by: name, file, value: isInFile(name) && Object.hasOwn(content, name) ? content[name] : undefined },
  ].find(({ value }) => value !== undefined);
}

function read(name: SettingName, found: Found | undefined, sources: Sources, report: OptionReport): unknown {
  const definition = settingDefinitions[name];
  const otherwise = definition.default ?? (isServerOption(name) ? undefined : null);
  if (found === undefined) return otherwise;
  const schema = definition.schema();
  let { value } = found;
  if (found.file === null && typeof value === 'string') {
    // Kubernetes sets PORTCULLIS_PORT to a URL for every service that is named portcullis.
    if (name === 'port' && /^(?:tcp|udp|sctp):\/\//.test(value)) {
      report.add(
        [name],
        'holds the address of a Kubernetes service of that name: set enableServiceLinks to false for the pod, or rename the service',
      );
      report.markUnread([name]);
      return otherwise;
    }
    try {
      value = parseText(schema, value);
    } catch {
      // The parser's message may quote a secret.
      report.add([name], 'is not well-formed JSON');
      report.markUnread([name]);
      return otherwise;
    }
  }
  const origin = { ...sources, isNeeded: sources.needed?.includes(name) ?? true };
  return (
    readOption(schema, resolveReferences(schema, value, origin, [name], report), [name], report) ?? otherwise
  );
}

/**
 * Parses the text of a flag or a variable.
 * @throws SyntaxError if a structured value is not JSON
 */
function parseText(schema: z.ZodType, written: string): unknown {
  const inner = unwrap(schema);
  const { type, element, options, shape, valueType } = definitionOf(inner);
  if (type === 'union' && options?.some((option) => definitionOf(unwrap(option)).type === 'string'))
    return isObjectText(written, options) ? JSON.parse(written) : written;
  if (type === 'number' || type === 'boolean' || type === 'union') {
    if (/^\d{1,15}$/.test(written)) return type === 'boolean' ? written : Number(written);
    if (written === 'true' || written === 'false') return written === 'true';
    const listed = options?.find((option) => definitionOf(unwrap(option)).type === 'array');
    if (listed !== undefined) return parseText(listed, written);
    const isStructured = options?.some((option) => definitionOf(unwrap(option)).shape !== undefined) === true;
    return isStructured ? JSON.parse(written) : written;
  }
  const isPlainList = type === 'array' && definitionOf(unwrap(element ?? inner)).shape === undefined;
  if (isPlainList && !written.trim().startsWith('[')) return written.split(',').map((part) => part.trim());
  return type === 'array' || shape !== undefined || valueType !== undefined ? JSON.parse(written) : written;
}

/** Whether the text of a union is that of its object. */
function isObjectText(written: string, options: readonly z.ZodType[]): boolean {
  const hasObject = options.some((option) => definitionOf(unwrap(option)).shape !== undefined);
  return hasObject && written.trimStart().startsWith('{');
}

/** Names a setting by its source; by all sources if it is not set. */
function nameAs(name: SettingName, found: Found | undefined, path: readonly string[] = []): string {
  if (found?.by.startsWith('--')) return `${found.by}${entryOf(path)}`;
  const named = [found?.by ?? titleOf(name), ...path].join('.');
  return found?.file == null ? named : `${named} (in ${found.file})`;
}

/** A list of a flag is written with commas. */
function entryOf([index, ...more]: readonly string[]): string {
  if (index === undefined) return '';
  return /^\d+$/.test(index) && more.length === 0
    ? ` (entry ${Number(index) + 1})`
    : `.${[index, ...more].join('.')}`;
}

const SEE_HELP = 'see `portcullis up --help`';

function checkKeys({ name: file, content }: ConfigFile, report: OptionReport): readonly string[] {
  const known: readonly string[] = settingNames.filter(isInFile);
  return Object.keys(content)
    .filter((key) => key !== '$schema' && !known.includes(key))
    .map((key) => {
      report.markUnread([findSimilarName(key, known) ?? key]);
      return `${JSON.stringify(key)} (in ${file}): unknown key; ${suggestName(key, known, SEE_HELP)}`;
    });
}

const PREFIX = 'PORTCULLIS_';

/** Variables of the commands that use a server. */
const CLIENT_VARIABLES = ['PORTCULLIS_CREDENTIALS', 'PORTCULLIS_CLIENT_SECRET'];

/** Variables that Kubernetes sets for services whose names begin with portcullis. */
const KUBERNETES = /_SERVICE_(?:HOST|PORT)(?:_\w+)?$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/;

function checkVariables(environment: Sources['environment'], report: OptionReport): readonly string[] {
  const ofFiles = settingNames.map(fileVariableOf).filter((name) => name !== null);
  const known = [...settingNames.map(variableOf), ...ofFiles, ...CLIENT_VARIABLES];
  return Object.entries(environment).flatMap(([name, value]) => {
    if (!name.startsWith(PREFIX) || value === '' || known.includes(name)) return [];
    if (KUBERNETES.test(name) || /^(?:tcp|udp|sctp):\/\//.test(value ?? '')) return [];
    const meant = findSimilarVariable(name, known);
    for (const one of settingNames) {
      if ([variableOf(one), fileVariableOf(one)].includes(meant)) report.markUnread([one]);
    }
    return [`${name}: unknown variable; ${meant === null ? SEE_HELP : `did you mean ${meant}?`}`];
  });
}

/** Compares what follows the prefix, which makes any two variables similar. */
function findSimilarVariable(name: string, known: readonly string[]): string | null {
  const withoutPrefix = (variable: string): string => variable.slice(PREFIX.length);
  const meant = findSimilarName(withoutPrefix(name), known.map(withoutPrefix));
  return meant === null ? null : `${PREFIX}${meant}`;
}

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/;

/** Settings that require each other. */
const PAIRS = [['bootstrapEmail', 'bootstrapPassword'], ['tlsCert', 'tlsKey']] as const; // biome-ignore format: a table

/** Settings that exclude each other. */
const ALTERNATIVES = [['key', 'keyFile'], ['previousKey', 'previousKeyFile']] as const; // biome-ignore format: a table

/** 128 bits in base64url. */
const MINIMUM_SECRET = 22;

function checkPairs(settings: Settings, report: OptionReport): void {
  for (const [one, other] of PAIRS) {
    if ((settings[one] === null) === (settings[other] === null)) continue;
    if (report.isUnread(one) || report.isUnread(other)) continue;
    const [given, missing] = settings[one] === null ? [other, one] : [one, other];
    report.add([given], `needs ${titleOf(missing)} as well`);
  }
}

/** Rules across settings; unreadable settings are skipped. */
function checkCombinations(settings: Settings, report: OptionReport, nameOf: NameOf): void {
  const isUnread = (name: SettingName) => report.isUnread(name);
  for (const [one, other] of ALTERNATIVES) {
    if (settings[one] !== null && settings[other] !== null) {
      report.add([other], `must be left out when ${nameOf(one)} is set`);
    }
  }
  if (settings.bootstrapEmail !== null && !settings.localAccounts) {
    report.add(['bootstrapEmail'], `must be left out when ${nameOf('localAccounts')} is false`);
  }
  const mayBeProtected = isUnread('tlsCert') || isUnread('trustedProxies');
  const isProtected = mayBeProtected || settings.tlsCert !== null || settings.trustedProxies.length > 0;
  if (!isProtected && !LOOPBACK.test(settings.host)) {
    report.add(
      ['host'],
      `must be 127.0.0.1, ::1 or localhost unless ${titleOf('tlsCert')} or ${titleOf('trustedProxies')} protects connections: passwords and tokens would be sent unencrypted`,
    );
  }
  if (settings.tlsCert !== null && settings.publicUrl?.startsWith('http:') === true) {
    report.add(['publicUrl'], `must be https when ${nameOf('tlsCert')} is set`);
  }
  if (settings.processes !== 1 && settings.database === ':memory:' && !isUnread('database')) {
    report.add(
      ['processes'],
      `must be 1 when ${nameOf('database')} is :memory:, which no two processes share`,
    );
  }
  for (const [index, client] of settings.clients.entries()) {
    for (const name of ['client_secret', 'previous_client_secret'] as const) {
      const length = client?.[name]?.length ?? MINIMUM_SECRET;
      if (length >= MINIMUM_SECRET || report.isUnread('clients', index, name)) continue;
      const message = `must have at least ${MINIMUM_SECRET} characters; \`openssl rand -hex 32\` generates one`;
      report.add(['clients', index, name], message);
    }
  }
}
