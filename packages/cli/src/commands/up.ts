/** `portcullis up`: an authorization server and a protected server in one process. */
import type { Command } from 'commander';
import { resolveSettings } from '../resolve-settings.ts';
import { isOutside, type SettingName, settingNames, table } from '../settings.ts';
import { start } from '../start.ts';
import { untilAskedToStop } from '../stopping.ts';
import type { Surroundings } from '../surroundings.ts';
import { optionOf, otherwiseOf } from './setting-options.ts';

/** Milliseconds that requests under way have to end in when the program stops. */
const GRACE = 10_000;

export function defineUp(program: Command, surroundings: Surroundings): void {
  const command = program
    .command('up')
    .summary('serve an MCP server behind its own authorization server')
    .description('Serves an MCP server behind its own authorization server, in one process.');
  for (const name of settingNames.filter(isOutside)) command.addOption(optionOf(name));
  command.addHelpText('after', `\n${fileHelp()}`);
  command.action((flags: Readonly<Partial<Record<SettingName, string>>>) => up(flags, surroundings));
}

async function up(
  flags: Readonly<Partial<Record<SettingName, string>>>,
  surroundings: Surroundings,
): Promise<void> {
  const asked = untilAskedToStop(surroundings.environment);
  // Whatever is written from here on, by the application too, is for this user only.
  process.umask(0o077);
  const settings = await resolveSettings({
    flags,
    environment: surroundings.environment,
    folder: surroundings.folder,
  });
  const running = await start(settings, surroundings);
  await asked;
  await running.stop(GRACE);
  process.exit(0);
}

function fileHelp(): string {
  const names = settingNames.filter((name) => table[name].only === 'file');
  const width = Math.max(...names.map((name) => name.length));
  return [
    'Flags win over environment variables, which win over the configuration file.',
    'The file holds settings by their names in camelCase (publicUrl, keyFile), and these besides:',
    ...names.map((name) => `  ${name.padEnd(width)}  ${table[name].what} [${otherwiseOf(name)}]`),
  ].join('\n');
}
