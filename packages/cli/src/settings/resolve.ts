/** Settings found: flags before environment before file before default, and every fault reported together. */
import { findSimilarName, suggestName } from '@portcullis/protocol/option-names';
import { type Issue, readOn, SettingsError } from '../faults.ts';
import { readConfigFile } from './config-file.ts';
import { flagOf, type SettingName, type Settings, variableOf } from './settings.ts';
import { fileVariableOf, hasFlag, isInFile, settingNames, table, titleOf } from './table.ts';

/** What an operator said, before anybody looked at it. */
export interface Sources {
  /** By the names of the settings. */
  readonly flags: Readonly<Partial<Record<SettingName, string>>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths start from. */
  readonly folder: string;
}

/** @throws SettingsError with every fault */
export async function resolveSettings(sources: Sources): Promise<Settings> {
  const { settings, issues } = await findSettings(sources);
  if (issues.length > 0) throw new SettingsError(issues);
  return settings;
}

/** For whoever judges further. */
export interface FoundSettings {
  /** Without whatever is at fault. */
  readonly settings: Settings;
  readonly issues: readonly string[];
  /** Places of what is at fault (`resources.0.scopes`): what is judged of anything that rests on it may not be true. */
  readonly unread: readonly string[];
  /** A setting, or a place in it, as the operator said it: the flag, the variable, or the key in the file. */
  nameOf(name: SettingName, path?: readonly string[]): string;
}

/** Whether a setting, or anything in it, is at fault. */
function isUnread(unread: readonly string[], name: SettingName): boolean {
  return unread.some((place) => place === name || place.startsWith(`${name}.`));
}

/** Settings, and every fault. */
export async function findSettings(sources: Sources): Promise<FoundSettings> {
  const issues: string[] = [];
  const unread: string[] = [];
  const config = await findFile(sources, issues);
  // Nobody knows what a file says that cannot be read.
  if (issues.length > 0) unread.push(...settingNames);
  const found = Object.fromEntries(
    settingNames.map((name) => {
      const { value, issues: own } = choose(name, sources, config);
      for (const { message, path, meant } of own) {
        const said = findSaid(name, sources, config);
        if (name !== 'config') issues.push(`${nameAs(name, said, path)} ${message}`);
        unread.push([name, ...path].join('.'));
        if (meant !== null) unread.push([name, ...path.slice(0, -1), meant].join('.'));
      }
      return [name, value];
    }),
  ) as unknown as Settings;
  issues.push(...checkKeys(config, unread), ...checkVariables(sources.environment, unread));
  const nameOf: FoundSettings['nameOf'] = (name, path) => nameAs(name, findSaid(name, sources, config), path);
  const besides = (name: SettingName, other: SettingName) => nameAs(name, findSaid(other, sources, config));
  checkTogether({ settings: found, unread, nameOf, besides }, issues);
  return { settings: Object.freeze(found), issues, unread, nameOf };
}

/** The configuration file, empty when there is none. */
interface ConfigFile {
  /** As the operator names it. */
  readonly name: string;
  readonly content: Readonly<Record<string, unknown>>;
}

const NO_FILE: ConfigFile = { name: '', content: {} };

async function findFile(sources: Sources, issues: string[]): Promise<ConfigFile> {
  const { value, issues: own } = choose('config', sources, NO_FILE);
  const title = nameAs('config', findSaid('config', sources, NO_FILE));
  issues.push(...own.map(({ message }) => `${title} ${message}`));
  if (typeof value !== 'string') return NO_FILE;
  const content = await readConfigFile(value, sources.folder, title).catch(collect(issues));
  return { name: value, content };
}

function collect(issues: string[]): (error: unknown) => Record<string, never> {
  return (error) => {
    if (!(error instanceof SettingsError)) throw error;
    issues.push(...error.issues);
    return {};
  };
}

/** The value said with the most authority without what is at fault in it, or the default when nothing remains. */
function choose<K extends SettingName>(
  name: K,
  sources: Sources,
  file: ConfigFile,
): { readonly value: Settings[K]; readonly issues: readonly Issue[] } {
  const { shape, otherwise } = table[name];
  const said = findSaid(name, sources, file);
  if (said === undefined) return { value: otherwise, issues: [] };
  const issues: Issue[] = [];
  const read = readOn(issues, () => {
    const isText = said.file === null && typeof said.value === 'string';
    const value = isText && shape.fromText !== undefined ? shape.fromText(String(said.value)) : said.value;
    return shape.read(value, sources) as Settings[K];
  });
  return { value: read === undefined ? otherwise : read, issues };
}

/** What was said of a setting, and how. */
interface Said {
  /** The flag or the variable. */
  readonly by: string;
  /** The configuration file, when it stands there. */
  readonly file: string | null;
  readonly value: unknown;
}

/** What was said with the most authority. */
function findSaid(
  name: SettingName,
  { flags, environment }: Sources,
  { name: file, content }: ConfigFile,
): Said | undefined {
  const variable = environment[variableOf(name)];
  const fileVariable = fileVariableOf(name);
  const named = fileVariable === null ? '' : (environment[fileVariable] ?? '');
  return [
    { by: flagOf(name), file: null, value: hasFlag(name) ? flags[name] : undefined },
    // An empty variable counts as unset: that is how the files of container tools leave one out.
    { by: variableOf(name), file: null, value: variable === '' ? undefined : variable },
    { by: fileVariable ?? '', file: null, value: named === '' ? undefined : { file: named } },
    { by: name, file, value: isInFile(name) && Object.hasOwn(content, name) ? content[name] : undefined },
  ].find(({ value }) => value !== undefined);
}

/** A setting, or a place in it, in the way in which another was said, or it was itself; in all ways that there are when nobody said it. */
function nameAs(name: SettingName, said: Said | undefined, path: Issue['path'] = []): string {
  if (said === undefined) return [titleOf(name), ...path].join('.');
  if (said.file !== null) return `${[name, ...path].join('.')} (in ${said.file})`;
  const isFlag = said.by.startsWith('--');
  if (isFlag) return [hasFlag(name) ? flagOf(name) : variableOf(name), ...path].join('.');
  const ofFile = said.by.endsWith('_FILE') ? fileVariableOf(name) : null;
  return [ofFile !== null && said.by !== variableOf(name) ? ofFile : variableOf(name), ...path].join('.');
}

/** They are too many for a message. */
const LISTED = 'those that portcullis up --help lists';

/** Faults of keys that no setting has. What was meant is not known then. */
function checkKeys({ name: file, content }: ConfigFile, unread: string[]): readonly string[] {
  const known: readonly string[] = settingNames.filter(isInFile);
  return Object.keys(content)
    .filter((key) => !known.includes(key))
    .map((key) => {
      unread.push(findSimilarName(key, known) ?? key);
      return `${JSON.stringify(key)} (in ${file}) is no setting: ${suggestName(key, known, LISTED)}`;
    });
}

/** Variables of the commands that use a server. */
const OF_OTHERS = ['PORTCULLIS_CREDENTIALS', 'PORTCULLIS_CLIENT_SECRET'];

/** What Kubernetes sets for services whose names begin with portcullis. */
const OF_KUBERNETES = /_SERVICE_(?:HOST|PORT)(?:_\w+)?$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/;

/** The same of variables. */
function checkVariables(environment: Sources['environment'], unread: string[]): readonly string[] {
  const ofFiles = settingNames.map(fileVariableOf).filter((name) => name !== null);
  const known = [...settingNames.map(variableOf), ...ofFiles, ...OF_OTHERS];
  return Object.entries(environment).flatMap(([name, value]) => {
    if (!name.startsWith('PORTCULLIS_') || value === '' || known.includes(name)) return [];
    if (OF_KUBERNETES.test(name) || /^(?:tcp|udp|sctp):\/\//.test(value ?? '')) return [];
    const meant = findSimilarName(name, known);
    unread.push(...settingNames.filter((one) => [variableOf(one), fileVariableOf(one)].includes(meant)));
    return [`${name} is no setting: ${suggestName(name, known, LISTED)}`];
  });
}

/** Names and addresses of this computer that nobody else reaches. */
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/;

/** Settings of which one says nothing without the other. */
const PAIRS: readonly (readonly [SettingName, SettingName])[] = [
  ['bootstrapEmail', 'bootstrapPassword'],
  ['tlsCert', 'tlsKey'],
];

/** Two ways to say the same. */
const ALTERNATIVES: readonly (readonly [SettingName, SettingName])[] = [
  ['key', 'keyFile'],
  ['previousKey', 'previousKeyFile'],
];

/** What is known of the settings, each by itself. */
interface Together extends Omit<FoundSettings, 'issues'> {
  /** A setting that nobody said, as another was said. */
  besides(name: SettingName, other: SettingName): string;
}

/** Says nothing of settings that are at fault by themselves: what they were meant to be is not known. */
function checkTogether({ settings, unread, nameOf, besides }: Together, issues: string[]): void {
  const isOpen = (name: SettingName) => isUnread(unread, name);
  for (const [one, other] of PAIRS) {
    if ((settings[one] === null) === (settings[other] === null)) continue;
    if (isOpen(one) || isOpen(other)) continue;
    const [there, missing] = settings[one] === null ? [other, one] : [one, other];
    issues.push(`${besides(missing, there)} must be set together with ${nameOf(there)}`);
  }
  for (const [one, other] of ALTERNATIVES) {
    if (settings[one] === null || settings[other] === null) continue;
    issues.push(`${nameOf(other)} must be left out when ${nameOf(one)} is set`);
  }
  if (settings.bootstrapEmail !== null && !settings.localAccounts) {
    issues.push(`${nameOf('bootstrapEmail')} must be left out when ${nameOf('localAccounts')} is false`);
  }
  const mayBeGuarded = isOpen('tlsCert') || isOpen('trustedProxies');
  const isGuarded = mayBeGuarded || settings.tlsCert !== null || settings.trustedProxies.length > 0;
  if (!isGuarded && !LOOPBACK.test(settings.host)) {
    issues.push(
      `${nameOf('host')} must be 127.0.0.1, ::1 or localhost, unless ${besides('tlsCert', 'host')} or ${besides('trustedProxies', 'host')} says how connections are protected: passwords and tokens would travel in the clear`,
    );
  }
  if (settings.tlsCert !== null && settings.publicUrl?.startsWith('http:') === true) {
    issues.push(`${nameOf('publicUrl')} must be https when ${nameOf('tlsCert')} is set`);
  }
}
