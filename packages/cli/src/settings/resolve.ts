/** Settings found: flags before environment before file before default, and every fault reported together. */
import { type Fault, faultsOf, SettingsError } from '../faults.ts';
import { readConfigFile } from './config-file.ts';
import { advise } from './nearest.ts';
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
  const { settings, faults } = await findSettings(sources);
  if (faults.length > 0) throw new SettingsError(faults);
  return settings;
}

/** Settings, with the default in the place of whatever is at fault, and every fault: for whoever judges further. */
export async function findSettings(
  sources: Sources,
): Promise<{ readonly settings: Settings; readonly faults: readonly string[] }> {
  const faults: string[] = [];
  const config = choose('config', sources, {}, faults) as Settings['config'];
  const file = config === null ? {} : await readConfigFile(config, sources.folder).catch(collect(faults));
  const settings = Object.fromEntries(
    settingNames.map((name) => [name, choose(name, sources, file, name === 'config' ? [] : faults)]),
  ) as unknown as Settings;
  checkFileKeys(file, faults);
  checkVariables(sources.environment, faults);
  checkTogether(settings, faults);
  return { settings: Object.freeze(settings), faults };
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
  const { flags, environment } = sources;
  const variable = environment[variableOf(name)];
  const fileVariable = fileVariableOf(name);
  const named = fileVariable === null ? '' : (environment[fileVariable] ?? '');
  const said = [
    { from: flagOf(name), value: hasFlag(name) ? flags[name] : undefined },
    // An empty variable counts as unset: that is how the files of container tools leave one out.
    { from: 'environment', value: variable === '' ? undefined : variable },
    { from: fileVariable ?? '', value: named === '' ? undefined : { file: named } },
    { from: 'file', value: isInFile(name) && Object.hasOwn(file, name) ? file[name] : undefined },
  ].find(({ value }) => value !== undefined);
  if (said === undefined) return otherwise;
  try {
    const isText = said.from !== 'file' && typeof said.value === 'string';
    const value = isText && shape.fromText !== undefined ? shape.fromText(String(said.value)) : said.value;
    return shape.read(value, sources) as Settings[K];
  } catch (error) {
    faults.push(...faultsOf(error).map((fault) => describe(name, said.from, fault)));
    return otherwise;
  }
}

function describe(name: SettingName, from: string, fault: Fault): string {
  const title = from === 'environment' ? variableOf(name) : titleOf(name);
  const source = from === 'environment' ? '' : from === 'file' ? ' (in the file)' : ` (${from})`;
  return `${[title, ...fault.path].join('.')}${source} ${fault.message}`;
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

function checkTogether(settings: Settings, faults: string[]): void {
  for (const [one, other] of PAIRS) {
    if ((settings[one] === null) === (settings[other] === null)) continue;
    const [there, missing] = settings[one] === null ? [other, one] : [one, other];
    faults.push(`${variableOf(missing)} must be set together with ${variableOf(there)}`);
  }
  for (const [one, other] of ALTERNATIVES) {
    if (settings[one] === null || settings[other] === null) continue;
    faults.push(`${variableOf(other)} must be left out when ${variableOf(one)} is set`);
  }
  if (settings.bootstrapEmail !== null && !settings.localAccounts) {
    faults.push(`${variableOf('bootstrapEmail')} must be left out when localAccounts is false`);
  }
  const isGuarded = settings.tlsCert !== null || settings.trustedProxies.length > 0;
  if (!isGuarded && !LOOPBACK.test(settings.host)) {
    faults.push(
      `${variableOf('host')} must be 127.0.0.1, ::1 or localhost, unless ${variableOf('tlsCert')} or ${variableOf('trustedProxies')} says how connections are protected: passwords and tokens would travel in the clear`,
    );
  }
  if (settings.tlsCert !== null && settings.publicUrl?.startsWith('http:') === true) {
    faults.push(`${variableOf('publicUrl')} must be https when ${variableOf('tlsCert')} is set`);
  }
}
