/** Adds a subcommand to a command group, with its summary, help and settings. */
import type { Command } from 'commander';
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
  for (const setting of settings) command.addOption(optionOf(setting));
  const { outputError } = command.configureOutput();
  return command.configureOutput({
    outputError: (text, write) => outputError?.(explainSetting(text), write),
  });
}

/** Explains an unknown option that is a setting of another command. */
function explainSetting(text: string): string {
  const flag = /unknown option '(--[a-z-]+)'/.exec(text)?.[1];
  const isSetting = settingNames.some((name) => hasFlag(name) && flagOf(name) === flag);
  return isSetting ? `error: ${flag} is a setting that this command does not use: remove it\n` : text;
}
