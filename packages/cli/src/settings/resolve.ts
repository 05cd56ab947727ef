/** Settings found: flags before environment before file before default, and every fault reported together. */
import { type Fault, faultsOf, SettingsError } from '../faults.ts';
import { readConfigFile } from './config-file.ts';
import { advise } from './nearest.ts';
import { flagOf, type SettingName, type Settings, variableOf } from './settings.ts';
import { fileVariableOf, hasFlag, isInFile, settingNames, table } from './table.ts';

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
  const { settings, faults } = await findSettings(sources);
  if (faults.length > 0) throw new SettingsError(faults);
  return settings;
}

/** For whoever judges further. */
export interface FoundSettings {
  /** With the default in the place of whatever is at fault. */
  readonly settings: Settings;
  readonly faults: readonly string[];
  /** Those that are at fault: what is judged of their defaults would not be true. */
  readonly unread: ReadonlySet<SettingName>;
  /** A setting as the operator said it: by its variable, with its flag, or in the file. */
  nameOf(name: SettingName): string;
}

/** Settings, and every fault. */
export async function findSettings(sources: Sources): Promise<FoundSettings> {
  const faults: string[] = [];
  const unread = new Set<SettingName>();
  const config = choose('config', sources, {}, faults) as Settings['config'];
  const file = config === null ? {} : await readConfigFile(config, sources.folder).catch(collect(faults));
  // Nobody knows what a file says that cannot be read.
  if (faults.length > 0) for (const name of settingNames) unread.add(name);
  const settings = Object.fromEntries(
    settingNames.map((name) => {
      const own: string[] = [];
      const value = choose(name, sources, file, own);
      if (name !== 'config') faults.push(...own);
      if (own.length > 0) unread.add(name);
      return [name, value];
    }),
  ) as unknown as Settings;
  checkFileKeys(file, faults);
  checkVariables(sources.environment, faults);
  const nameOf = (name: SettingName, other = name) => nameAs(name, findSaid(other, sources, file)?.from);
  checkTogether({ settings, unread, nameOf }, faults);
  return { settings: Object.freeze(settings), faults, unread, nameOf: (name) => nameOf(name) };
}

function collect(faults: string[]): (error: unknown) => Record<string, never> {
  return (error) => {
    if (!(error instanceof SettingsError)) throw error;
    faults.push(...error.faults);
    return {};
  };
}

/** The value said with the most authority, or the default when it is at fault or nobody said anything. */
function choose<K extends SettingName>(
  name: K,
  sources: Sources,
  file: Readonly<Record<string, unknown>>,
  faults: string[],
): Settings[K] {
  const { shape, otherwise } = table[name];
  const said = findSaid(name, sources, file);
  if (said === undefined) return otherwise;
  try {
    const isText = said.from !== 'file' && typeof said.value === 'string';
    const value = isText && shape.fromText !== undefined ? shape.fromText(String(said.value)) : said.value;
    return shape.read(value, sources) as Settings[K];
  } catch (error) {
    faults.push(...faultsOf(error).map(({ path, message }) => `${nameAs(name, said.from, path)} ${message}`));
    return otherwise;
  }
}

/** What was said of a setting, and how: by a flag, in the environment, by a variable that names a file, or in the file. */
interface Said {
  readonly from: string;
  readonly value: unknown;
}

/** What was said with the most authority. */
function findSaid(
  name: SettingName,
  { flags, environment }: Sources,
  file: Readonly<Record<string, unknown>>,
): Said | undefined {
  const variable = environment[variableOf(name)];
  const fileVariable = fileVariableOf(name);
  const named = fileVariable === null ? '' : (environment[fileVariable] ?? '');
  return [
    { from: flagOf(name), value: hasFlag(name) ? flags[name] : undefined },
    // An empty variable counts as unset: that is how the files of container tools leave one out.
    { from: 'environment', value: variable === '' ? undefined : variable },
    { from: fileVariable ?? '', value: named === '' ? undefined : { file: named } },
    { from: 'file', value: isInFile(name) && Object.hasOwn(file, name) ? file[name] : undefined },
  ].find(({ value }) => value !== undefined);
}

/** A setting, or a member of it, with the way in which it was said, or could be. */
function nameAs(name: SettingName, from: string | undefined, path: Fault['path'] = []): string {
  const title = from === 'environment' || hasFlag(name) ? variableOf(name) : name;
  const way = from?.startsWith('--') === false ? from : hasFlag(name) ? flagOf(name) : 'environment';
  const source = way === 'environment' ? '' : way === 'file' ? ' (in the file)' : ` (${way})`;
  return `${[title, ...path].join('.')}${source}`;
}

/** They are too many for a message. */
const LISTED = 'those that portcullis up --help lists';

function checkFileKeys(file: Readonly<Record<string, unknown>>, faults: string[]): void {
  const known: readonly string[] = settingNames.filter(isInFile);
  for (const key of Object.keys(file).filter((name) => !known.includes(name))) {
    faults.push(
      `${variableOf('config')} has no setting ${JSON.stringify(key)}: ${advise(key, known, LISTED)}`,
    );
  }
}

/** Variables of the commands that use a server. */
const OF_OTHERS = ['PORTCULLIS_CREDENTIALS', 'PORTCULLIS_CLIENT_SECRET'];

/** What Kubernetes sets for services whose names begin with portcullis. */
const OF_KUBERNETES = /_SERVICE_(?:HOST|PORT)(?:_\w+)?$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/;

function checkVariables(environment: Sources['environment'], faults: string[]): void {
  const ofFiles = settingNames.map(fileVariableOf).filter((name) => name !== null);
  const known = [...settingNames.map(variableOf), ...ofFiles, ...OF_OTHERS];
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith('PORTCULLIS_') || value === '' || known.includes(name)) continue;
    if (OF_KUBERNETES.test(name) || /^(?:tcp|udp|sctp):\/\//.test(value ?? '')) continue;
    faults.push(`${name} is no setting: ${advise(name, known, LISTED)}`);
  }
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
interface Together extends Pick<FoundSettings, 'settings' | 'unread'> {
  /** As it was said, or as `other` was. */
  nameOf(name: SettingName, other?: SettingName): string;
}

/** Says nothing of settings that are at fault by themselves: what they were meant to be is not known. */
function checkTogether({ settings, unread, nameOf }: Together, faults: string[]): void {
  for (const [one, other] of PAIRS) {
    if ((settings[one] === null) === (settings[other] === null)) continue;
    if (unread.has(one) || unread.has(other)) continue;
    const [there, missing] = settings[one] === null ? [other, one] : [one, other];
    faults.push(`${nameOf(missing, there)} must be set together with ${nameOf(there)}`);
  }
  for (const [one, other] of ALTERNATIVES) {
    if (settings[one] === null || settings[other] === null) continue;
    faults.push(`${nameOf(other)} must be left out when ${nameOf(one)} is set`);
  }
  if (settings.bootstrapEmail !== null && !settings.localAccounts) {
    faults.push(`${nameOf('bootstrapEmail')} must be left out when localAccounts is false`);
  }
  const mayBeGuarded = unread.has('tlsCert') || unread.has('trustedProxies');
  const isGuarded = mayBeGuarded || settings.tlsCert !== null || settings.trustedProxies.length > 0;
  if (!isGuarded && !LOOPBACK.test(settings.host)) {
    faults.push(
      `${nameOf('host')} must be 127.0.0.1, ::1 or localhost, unless ${variableOf('tlsCert')} or ${variableOf('trustedProxies')} says how connections are protected: passwords and tokens would travel in the clear`,
    );
  }
  if (settings.tlsCert !== null && settings.publicUrl?.startsWith('http:') === true) {
    faults.push(`${nameOf('publicUrl')} must be https when ${nameOf('tlsCert')} is set`);
  }
}
