/** Adds a subcommand to a command group, with its summary, help and settings. */
import type { Command, Option } from 'commander';
import { optionOf } from '../settings/command-options.ts';
import { flagOf, hasFlag, type SettingName, settingNames } from '../settings/schema.ts';

/** The settings of commands that need only the database, and the public URL for links. */
const ADMIN_SETTINGS: readonly SettingName[] = ['config', 'database', 'publicUrl', 'port'];

/** @param more further sentences for its help */
export function addSubcommand(
  group: Command,
  name: string,
  summary: string,
  more = '',
  settings: readonly SettingName[] = ADMIN_SETTINGS,
): Command {
  const sentence = `${summary[0]?.toUpperCase()}${summary.slice(1)}.`;
  const command = group.command(name).summary(summary).description(`${sentence} ${more}`.trim());
  for (const setting of settings) command.addOption(adminOptionOf(setting));
  const { outputError } = command.configureOutput();
  return command.configureOutput({
    outputError: (text, write) => outputError?.(explainSetting(text), write),
  });
}

/** Nothing listens there. */
function adminOptionOf(setting: SettingName): Option {
  const option = optionOf(setting);
  if (setting === 'port') option.description = option.description.replace(/^[^[]*/, PORT);
  return option;
}

const PORT = 'port of the server, for its links when there is no public URL ';

/** Explains an unknown option that is a setting of another command, or belongs to commands that act on another server. */
function explainSetting(text: string): string {
  const flag = /unknown option '(--[a-z-]+)'/.exec(text)?.[1];
  if (flag === '--server') return 'error: --server <url> goes before the command\n';
  if (flag === '--reason')
    return 'error: --reason is for commands that act on another server: --server <url> goes before the command\n';
  const isSetting = settingNames.some((name) => hasFlag(name) && flagOf(name) === flag);
  return isSetting ? `error: ${flag} is a setting that this command does not use: remove it\n` : text;
}
