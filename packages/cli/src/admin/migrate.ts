/** `portcullis migrate`: lists and applies pending schema migrations. */
import type { SchemaState } from '@portcullis/store';
import type { Command } from 'commander';
import { CommandFailure, exitCodes } from '../client/exit-codes.ts';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { inspectStorage, openStorage } from '../server/storage.ts';
import { titleOf } from '../settings/schema.ts';
import { cleanJson } from '../terminal/clean.ts';
import { findInstallation } from './installation.ts';
import { addSubcommand } from './subcommand.ts';

interface Flags {
  readonly check?: true;
  readonly json?: true;
}

export function defineMigrate(program: Command, processContext: ProcessContext): void {
  const more =
    'They are applied in order, all in one transaction.\n' +
    'A server does the same at startup. Use this to inspect migrations first, or if servers may not change the schema.\n' +
    'Every other command rejects a database with pending migrations.';
  addSubcommand(program, 'migrate', 'apply pending database migrations', more, ['config', 'database'])
    .option('--check', 'change nothing; exit code 1 if migrations are pending')
    .option('--json', 'as JSON')
    .action((flags: Flags) => migrate(flags, processContext));
}

async function migrate(flags: Flags, processContext: ProcessContext): Promise<void> {
  const { settings, folder, isNamed } = await findInstallation(flags, processContext);
  const before = await inspectStorage(settings, folder);
  if (before.pending[0]?.number === 1 && !isNamed) {
    throw new SettingsError([
      `${settings.database} does not exist in this folder: to create a database here, name it with ${titleOf('database')}`,
    ]);
  }
  if (flags.check === undefined && before.pending.length > 0) {
    process.umask(0o077);
    await (await openStorage(settings, folder)).store.close();
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
