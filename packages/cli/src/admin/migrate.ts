/** `portcullis migrate`: what a database lacks of this version's schema, and how it gets it. */
import type { SchemaState } from '@portcullis/store';
import type { Command } from 'commander';
import { CommandFailure, exitCodes } from '../client/exit-codes.ts';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { inspectStorage, openStorage } from '../server/storage.ts';
import { optionOf } from '../settings/command-options.ts';
import { resolveSettings } from '../settings/resolve.ts';
import type { SettingName } from '../settings/schema.ts';
import { titleOf } from '../settings/schema.ts';
import { cleanJson } from '../terminal/clean.ts';

type Flags = Readonly<Partial<Record<SettingName, string>>> & {
  readonly check?: true;
  readonly json?: true;
};

export function defineMigrate(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('migrate')
    .summary('bring the database up to date')
    .description(
      'Brings the database up to date, one numbered migration after the other, all in one transaction.\n' +
        'A server that starts does the same: this is for those who want to see it first, or whose servers may not.\n' +
        'Every other command refuses a database that is behind.',
    );
  for (const setting of ['config', 'database'] as const) command.addOption(optionOf(setting));
  command
    .option('--check', 'change nothing; exit code 1 when the database is behind')
    .option('--json', 'as JSON')
    .action((flags: Flags) => migrate(flags, processContext));
}

async function migrate(flags: Flags, { environment, folder, write }: ProcessContext): Promise<void> {
  const settings = await resolveSettings({ flags, environment, folder });
  if (settings.database === ':memory:') {
    throw new SettingsError([`${titleOf('database')} is :memory:, which no other process can see`]);
  }
  const before = await inspectStorage(settings, folder);
  if (flags.check === undefined && before.pending.length > 0) {
    process.umask(0o077);
    await (await openStorage(settings, folder)).store.close();
  }
  write(flags.json ? `${cleanJson(before)}\n` : describe(before, flags.check === true));
  if (flags.check && before.pending.length > 0) throw new CommandFailure(exitCodes.usage);
}

function describe({ newest, pending }: SchemaState, isCheck: boolean): string {
  if (pending.length === 0) return `The database is up to date, at ${newest}.\n`;
  const lines = pending.map(({ number, name }) => `  ${String(number).padStart(3)}  ${name}`);
  const head = isCheck ? 'The database lacks' : 'Done';
  return `${head}:\n${lines.join('\n')}\n`;
}
