/** `portcullis up`: an authorization server and a protected server in one process. */
import { type Command, Option } from 'commander';
import { resolveSettings } from '../resolve-settings.ts';
import { flagOf, isOutside, type SettingName, settingNames, table, variableOf } from '../settings.ts';
import { start } from '../start.ts';
import { untilAskedToStop } from '../stopping.ts';
import type { Surroundings } from '../surroundings.ts';

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

/** Commander derives the setting's name from its flag. */
function optionOf(name: SettingName): Option {
  const { what, placeholder, secret } = table[name];
  const advice = secret ? '; other users can read command lines, so rather set the variable' : '';
  return new Option(
    `${flagOf(name)} <${placeholder}>`,
    `${what}${advice} [${variableOf(name)}, ${otherwiseOf(name)}]`,
  );
}

function otherwiseOf(name: SettingName): string {
  const { otherwise, otherwiseText } = table[name];
  return otherwise === null || otherwiseText !== undefined ? (otherwiseText ?? 'none') : String(otherwise);
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
