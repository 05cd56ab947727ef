/** `portcullis up`: an authorization server and a protected server in one process. */
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { optionOf } from '../settings/command-options.ts';
import { structuredHelp } from '../settings/help.ts';
import type { SettingName } from '../settings/schema.ts';
import { hasFlag, settingNames } from '../settings/schema.ts';
import { prepare } from './prepare.ts';
import { start } from './start.ts';
import { untilStopSignal } from './stop-signal.ts';

/** Milliseconds that requests under way have to end in when the program stops. */
const GRACE = 10_000;

export function defineUp(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('up')
    .summary('serve an authorization server, and an MCP server behind it')
    .description(
      'Serves an authorization server: with --app also an MCP server behind it, in one process; without, for ' +
        'servers elsewhere, which the configuration file lists as resources.',
    );
  for (const name of settingNames.filter(hasFlag)) command.addOption(optionOf(name));
  command.addHelpText('after', `\n${structuredHelp()}`);
  command.action((flags: Readonly<Partial<Record<SettingName, string>>>) => up(flags, processContext));
}

async function up(
  flags: Readonly<Partial<Record<SettingName, string>>>,
  processContext: ProcessContext,
): Promise<void> {
  const asked = untilStopSignal(processContext.environment);
  // Whatever is written from here on, by the application too, is for this user only.
  process.umask(0o077);
  const { environment, folder } = processContext;
  const running = await start(await prepare({ flags, environment, folder }), processContext);
  await asked;
  await running.stop(GRACE);
  process.exit(0);
}
