/** Settings found: flags before environment before file before default, and every fault reported together. */
import { readConfigFile } from './config-file.ts';
import { Fault, SettingsError } from './faults.ts';
import {
  flagOf,
  isInFile,
  isOutside,
  type SettingName,
  type Settings,
  settingNames,
  table,
  titleOf,
  variableOf,
} from './settings.ts';

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
  const faults: string[] = [];
  const config = choose('config', sources, {}, faults) as Settings['config'];
  const file = config === null ? {} : await readConfigFile(config, sources.folder).catch(collect(faults));
  const settings = Object.fromEntries(
    settingNames.map((name) => [name, choose(name, sources, file, name === 'config' ? [] : faults)]),
  ) as unknown as Settings;
  checkFileKeys(file, faults);
  checkTogether(settings, faults);
  if (faults.length > 0) throw new SettingsError(faults);
  return Object.freeze(settings);
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
  { flags, environment }: Sources,
  file: Readonly<Record<string, unknown>>,
  faults: string[],
): Settings[K] {
  const { reader, otherwise } = table[name];
  const variable = environment[variableOf(name)];
  const said = [
    { from: flagOf(name), value: isOutside(name) ? flags[name] : undefined },
    // An empty variable counts as unset: that is how the files of container tools leave one out.
    { from: 'environment', value: isOutside(name) && variable !== '' ? variable : undefined },
    { from: 'file', value: isInFile(name) && Object.hasOwn(file, name) ? file[name] : undefined },
  ].find(({ value }) => value !== undefined);
  if (said === undefined) return otherwise;
  try {
    return reader(said.value);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    faults.push(describe(name, said.from, error));
    return otherwise;
  }
}

function describe(name: SettingName, from: string, fault: Fault): string {
  const place = [titleOf(name), ...fault.path].join('.');
  const source = from === 'environment' ? '' : from === 'file' ? ' (in the file)' : ` (${from})`;
  return `${place}${source} ${fault.message}`;
}

function checkFileKeys(file: Readonly<Record<string, unknown>>, faults: string[]): void {
  const known = settingNames.filter(isInFile);
  for (const key of Object.keys(file).filter((name) => !known.some((setting) => setting === name))) {
    faults.push(`${variableOf('config')} has no setting ${JSON.stringify(key)}: use ${known.join(', ')}`);
  }
}

/** Names and addresses of this computer that nobody else reaches. */
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/;

function checkTogether(settings: Settings, faults: string[]): void {
  const { bootstrapEmail: email, bootstrapPassword: password, key, keyFile } = settings;
  if ((email === null) !== (password === null)) {
    const [there, missing] =
      email === null ? (['Password', 'Email'] as const) : (['Email', 'Password'] as const);
    faults.push(
      `${variableOf(`bootstrap${missing}`)} must be set together with ${variableOf(`bootstrap${there}`)}`,
    );
  }
  if (key !== null && keyFile !== null) {
    faults.push(`${variableOf('keyFile')} must be left out when ${variableOf('key')} is set`);
  }
  if ((settings.tlsCert === null) !== (settings.tlsKey === null)) {
    const [there, missing] =
      settings.tlsCert === null ? (['tlsKey', 'tlsCert'] as const) : (['tlsCert', 'tlsKey'] as const);
    faults.push(`${variableOf(missing)} must be set together with ${variableOf(there)}`);
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
  if (settings.previousKey !== null && settings.previousKeyFile !== null) {
    faults.push(`${variableOf('previousKeyFile')} must be left out when ${variableOf('previousKey')} is set`);
  }
}
