/** `portcullis migrate`: lists and applies pending schema migrations. */
import type { SchemaState } from '@portcullis/store';
import type { Command } from 'commander';
import { CommandFailure, exitCodes } from '../client/exit-codes.ts';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { inspectStorage, openDatabase } from '../server/storage.ts';
import { optionOf } from '../settings/command-options.ts';
import type { SettingName } from '../settings/schema.ts';
import { titleOf } from '../settings/schema.ts';
import { cleanJson } from '../terminal/clean.ts';
import { findInstallation } from './installation.ts';

type Flags = Readonly<Partial<Record<SettingName, string>>> & {
  readonly check?: true;
  readonly json?: true;
};

export function defineMigrate(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('migrate')
    .summary('apply pending database migrations')
    .description(
      'Applies the pending migrations in order, all in one transaction.\n' +
        'A server does the same at startup. Use this to inspect migrations first, or if servers may not change the schema.\n' +
        'Every other command rejects a database with pending migrations.',
    );
  for (const setting of ['config', 'database'] as const) command.addOption(optionOf(setting));
  command
    .option('--check', 'change nothing; exit code 1 if migrations are pending')
    .option('--json', 'as JSON')
    .action((flags: Flags) => migrate(flags, processContext));
}

async function migrate(flags: Flags, processContext: ProcessContext): Promise<void> {
  const { settings, folder, isNamed } = await findInstallation(flags, processContext);
  if (settings.database === ':memory:') {
    throw new SettingsError([`${titleOf('database')} is :memory:, which no other process can see`]);
  }
  const before = await inspectStorage(settings, folder);
  if (before.pending[0]?.number === 1 && !isNamed) {
    throw new SettingsError([
      `${settings.database} does not exist in this folder: to create a database here, name it with ${titleOf('database')}`,
    ]);
  }
  if (flags.check === undefined && before.pending.length > 0) {
    process.umask(0o077);
    await (await openDatabase(settings, folder)).close();
  }
  processContext.write(flags.json ? `${cleanJson(before)}\n` : describe(before, flags.check === true));
  if (flags.check && before.pending.length > 0) throw new CommandFailure(exitCodes.usage);
}

function describe({ newest, pending }: SchemaState, isCheck: boolean): string {
  if (pending.length === 0) return `The database is up to date, at ${newest}.\n`;
  const lines = pending.map(({ number, name }) => `  ${String(number).padStart(3)}  ${name}`);
  const head = isCheck ? 'Pending migrations' : 'Applied migrations';
  return `${head}:\n${lines.join('\n')}\n`;
}
