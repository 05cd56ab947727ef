/** `portcullis keys`: lists and rotates the signing keys, re-encrypts all keys under a new master key, and discards lost ones. */
import {
  ConfigurationError,
  createKeyAdministration,
  type KeyAdministration,
  type ListedKey,
} from '@portcullis/authorization-server';
import { type Command, InvalidArgumentError } from 'commander';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import {
  createTemporaryKey,
  findExistingKey,
  findKeyIfAny,
  findOrCreateKey,
  findPreviousKeys,
} from '../server/master-key.ts';
import { titleOf, variableOf } from '../settings/schema.ts';
import { columns } from '../terminal/columns.ts';
import { timeOf, withTimes } from '../terminal/times.ts';
import { findInstallation } from './installation.ts';
import { formatOutput, type Output } from './store-commands.ts';
import { addSubcommand } from './subcommand.ts';
import { withStore } from './with-store.ts';

/** The settings for locating and decrypting the keys. */
const NEEDED = ['config', 'database', 'key', 'keyFile', 'previousKey', 'previousKeyFile'] as const;

interface Flags {
  readonly json?: true;
  readonly atOnce?: true;
  readonly compromised?: true;
  readonly newKeyFile?: string;
  readonly yes?: true;
}

type Task = (keys: KeyAdministration, flags: Flags, processContext: ProcessContext) => Promise<Output>;

/** Finds the master key. */
type FindKey = typeof findExistingKey;

export function defineKeys(program: Command, processContext: ProcessContext): void {
  const keys = program.command('keys').summary('list, rotate, re-encrypt or discard keys');
  const define = (
    name: string,
    [summary, more]: readonly [summary: string, more?: string],
    task: Task,
    findKey: FindKey = findExistingKey,
  ) =>
    addSubcommand(keys, name, summary, more, NEEDED).action(async (flags: Flags) =>
      processContext.write(formatOutput(await withKeys(flags, processContext, task, findKey), flags)),
    );
  define('list', ['list the keys, newest first'], list).option('--json', 'as JSON');
  define('rotate', ['create a new signing key', 'Running servers pick it up within half a minute.'], rotate)
    .option('--at-once', 'sign with it immediately, before verifiers have had time to fetch it')
    .option('--compromised', 'also revoke all other signing keys, with every access token they signed')
    .option('--json', 'as JSON');
  define('reencrypt', ['re-encrypt all keys under a new master key'], reencrypt).requiredOption(
    '--new-key-file <file>',
    'file with the new master key, created if it is missing',
    readName,
  );
  define(
    'discard',
    [
      'discard the keys that the master key cannot decrypt',
      'Use it when the master key is lost for good: access tokens signed by the discarded keys end.',
    ],
    discard,
    async (settings, folder) => (await findKeyIfAny(settings, folder)) ?? createTemporaryKey(),
  ).option('--yes', 'confirm; without it the keys are only listed');
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
): Promise<Output> {
  const installation = await findInstallation(flags, processContext, ['key', 'previousKey']);
  const { settings, folder } = installation;
  const key = await findKey(settings, folder);
  const previousKeys = await findPreviousKeys(settings, folder);
  for (const { warning } of [key, ...previousKeys]) if (warning !== null) processContext.complain(warning);
  const masterKey = key.bytes;
  const previousMasterKeys = previousKeys.map(({ bytes }) => bytes);
  try {
    return await withStore(installation, async ({ store, events, clock }) => {
      const { keys, lifetimes } = settings;
      const options = { store, masterKey, previousMasterKeys, keys, lifetimes, events, clock };
      return task(createKeyAdministration(options), flags, processContext);
    });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new SettingsError(
      error.issues.map((issue) => `${titleOf('keyFile')}: ${issue}`),
      { cause: error },
    );
  }
}

const list: Task = async (keys) => format(await keys.list());

const rotate: Task = async (keys, { compromised, atOnce }) =>
  format(await keys.rotate(compromised ? 'compromised' : atOnce ? 'at-once' : 'in-time'));

const reencrypt: Task = async (keys, { newKeyFile = '' }, { folder }) => {
  const { bytes, location } = await findOrCreateKey(newKeyFile, folder, '--new-key-file');
  const count = await keys.reencrypt(bytes);
  return [
    `Done: re-encrypted ${count === 1 ? 'one key' : `${count} keys`} under the new master key in ${location}.`,
    '',
    'Running servers keep working. Those that do not know the new key answer TOTP codes with 503 until they restart with:',
    `  ${variableOf('keyFile')}=${location}`,
    `  ${variableOf('previousKeyFile')}=<the old file>   for a few minutes: retries of earlier refreshes need it`,
    '',
    'Back up the new file before you delete the old one.',
    '',
  ].join('\n');
};

const discard: Task = async (keys, { yes }) => {
  const { signing, data } = await keys.listLost();
  if (signing.length + data.length === 0) return 'The master key decrypts every key: nothing to discard.\n';
  if (yes === undefined) {
    const ends = [
      ...(signing.length > 0 ? ['every access token that they signed'] : []),
      ...(data.length > 0 ? ['all access that depends on provider tokens'] : []),
    ];
    throw new Error(
      `The master key cannot decrypt ${[...signing, ...data].join(', ')}. Look for the right one first; --yes discards these keys, which ends ${ends.join(' and ')}`,
    );
  }
  const { endedGrants } = await keys.discard();
  const count = signing.length + data.length;
  const ended = endedGrants === 0 ? '' : ` and ended ${endedGrants} grants`;
  return `Discarded ${count === 1 ? 'one key' : `${count} keys`}${ended}. The next start creates new ones.\n`;
};

function format(keys: readonly ListedKey[]): Output {
  const rows = keys.map((key) => [
    key.state,
    key.id,
    key.algorithm,
    `signs from ${timeOf(key.signsFrom)}`,
    key.canDecrypt ? '' : 'encrypted under another master key',
  ]);
  const text = keys.length === 0 ? 'There are no keys yet: the first start creates one.\n' : columns(rows);
  return { json: keys.map((key) => withTimes(key, 'createdAt', 'signsFrom')), text };
}
