/** `portcullis keys`: the signing keys listed, replaced, sealed under another sealing key, and given up. */
import { randomBytes } from 'node:crypto';
import {
  ConfigurationError,
  createKeyAdministration,
  type KeyAdministration,
  type ListedKey,
} from '@portcullis/authorization-server';
import { type Command, InvalidArgumentError } from 'commander';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { findExistingKey, findOrMakeKey, findPreviousKeys } from '../server/master-key.ts';
import { resolveSettings } from '../settings/resolve.ts';
import { type SettingName, type Settings, titleOf, variableOf } from '../settings/schema.ts';
import { cleanJson } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { timeOf } from '../terminal/times.ts';
import { addSubcommand } from './subcommand.ts';
import { withStore } from './with-store.ts';

/** The settings that say where keys are and how to open them. */
const NEEDED = ['config', 'database', 'key', 'keyFile', 'previousKey', 'previousKeyFile'] as const;

type Flags = Readonly<Partial<Record<SettingName, string>>> & {
  readonly json?: true;
  readonly atOnce?: true;
  readonly compromised?: true;
  readonly newKeyFile?: string;
  readonly yes?: true;
};

/** Runs with the keys at hand. */
type Task = (keys: KeyAdministration, flags: Flags, processContext: ProcessContext) => Promise<void>;

/** How the sealing key is found. */
type FindKey = (settings: Settings, folder: string) => Promise<Uint8Array>;

export function defineKeys(program: Command, processContext: ProcessContext): void {
  const keys = program.command('keys').summary('list, replace, re-seal or give up the signing keys');
  const define = (
    name: string,
    [summary, more]: readonly [summary: string, more?: string],
    task: Task,
    findKey: FindKey = findExistingKey,
  ) =>
    addSubcommand(keys, name, summary, NEEDED, more).action((flags: Flags) =>
      withKeys(flags, processContext, task, findKey),
    );
  define('list', ['list the keys, newest first'], list).option('--json', 'as JSON');
  define('rotate', ['make a new key', 'Servers that run notice it within half a minute.'], rotate)
    .option('--at-once', 'it signs at once, instead of after verifiers have had time to learn of it')
    .option('--compromised', 'and all other keys, with every access token that they signed, end at once')
    .option('--json', 'as JSON');
  define('reseal', ['seal the private keys under another sealing key'], reseal).requiredOption(
    '--new-key-file <file>',
    'file with the new sealing key, made when it is missing',
    readName,
  );
  define(
    'discard',
    [
      'give up the keys that the sealing key does not open',
      'For when it is lost for good: access tokens that they signed end.',
    ],
    discard,
    async (settings, folder) => (await findExistingKey(settings, folder, 'or none')) ?? randomBytes(32),
  ).option('--yes', 'really; without it the keys are only listed');
}

function readName(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must name a file.');
  return text;
}

async function withKeys(
  flags: Flags,
  processContext: ProcessContext,
  task: Task,
  findKey: FindKey,
): Promise<void> {
  const { folder, environment } = processContext;
  const settings = await resolveSettings({ flags, environment, folder });
  const masterKey = await findKey(settings, folder);
  const previousMasterKeys = await findPreviousKeys(settings, folder);
  try {
    await withStore(settings, folder, 'refuse', async ({ store, events, clock }) => {
      const { keys, lifetimes } = settings;
      const options = { store, masterKey, previousMasterKeys, keys, lifetimes, events, clock };
      await task(createKeyAdministration(options), flags, processContext);
    });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new SettingsError(
      error.issues.map((issue) => `${titleOf('keyFile')}: ${issue}`),
      { cause: error },
    );
  }
}

const list: Task = async (keys, flags, { write }) => write(format(await keys.list(), flags));

const rotate: Task = async (keys, flags, { write }) => {
  const replacement = flags.compromised ? 'compromised' : flags.atOnce ? 'at-once' : 'in-time';
  write(format(await keys.rotate(replacement), flags));
};

const reseal: Task = async (keys, { newKeyFile = '' }, { folder, write }) => {
  const { bytes, place } = await findOrMakeKey(newKeyFile, folder, '--new-key-file');
  const count = await keys.reencrypt(bytes);
  write(
    [
      `Done: ${count === 1 ? 'one key is' : `${count} keys are`} sealed under the new sealing key, in ${place}.`,
      '',
      'Servers that run go on, but answer codes from apps with 503 until their next start, for which they need:',
      `  ${variableOf('keyFile')}=${place}`,
      `  ${variableOf('previousKeyFile')}=<the old file>   for some minutes: retries of refreshes from before need it`,
      '',
      'Back the new file up. Then the old one can go.',
      '',
    ].join('\n'),
  );
};

const discard: Task = async (keys, { yes }, { write }) => {
  const { signing, data } = await keys.listLost();
  if (signing.length + data.length === 0) {
    return void write('The sealing key opens every key: nothing is to be given up.\n');
  }
  if (yes === undefined) {
    const ends = [
      ...(signing.length > 0 ? ['every access token that they signed'] : []),
      ...(data.length > 0 ? ['all access that rests on what third parties gave'] : []),
    ];
    throw new Error(
      `The sealing key does not open ${[...signing, ...data].join(', ')}. Look for the right one first; --yes gives them up, and ends ${ends.join(' and ')}`,
    );
  }
  const { endedGrants } = await keys.discard();
  const count = signing.length + data.length;
  const ended = endedGrants === 0 ? '' : `, and with ${count === 1 ? 'it' : 'them'} ${endedGrants} grants`;
  write(`${count === 1 ? 'One key is' : `${count} keys are`} gone${ended}. The next start makes new ones.\n`);
};

function format(keys: readonly ListedKey[], { json }: Flags): string {
  if (json) return `${cleanJson(keys.map(withTimes))}\n`;
  if (keys.length === 0) return 'There is no key yet: the first start makes one.\n';
  const rows = keys.map((key) => [
    key.state,
    key.id,
    key.algorithm,
    `signs from ${timeOf(key.signsFrom)}`,
    key.canDecrypt ? '' : 'sealed under another key',
  ]);
  return columns(rows);
}

function withTimes({ createdAt, signsFrom, ...key }: ListedKey): object {
  return { ...key, createdAt: timeOf(createdAt), signsFrom: timeOf(signsFrom) };
}
