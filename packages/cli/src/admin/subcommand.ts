/** One command of a group: a few words in the list of the group, sentences in its own help, and the settings that it takes. */
import type { Command } from 'commander';
import { optionOf } from '../settings/command-options.ts';
import { flagOf, hasFlag, type SettingName, settingNames } from '../settings/schema.ts';

/** What a command that looks for nothing but the database takes, and for links where the server is reached. */
export const ADMIN_SETTINGS: readonly SettingName[] = ['config', 'database', 'publicUrl', 'port'];

/** @param more sentences for its own help, after the summary */
export function addSubcommand(
  group: Command,
  name: string,
  summary: string,
  settings: readonly SettingName[] = ADMIN_SETTINGS,
  more = '',
): Command {
  const sentence = `${summary[0]?.toUpperCase()}${summary.slice(1)}.`;
  const command = group.command(name).summary(summary).description(`${sentence} ${more}`.trim());
  for (const setting of settings) command.addOption(optionOf(setting));
  const { outputError } = command.configureOutput();
  return command.configureOutput({
    outputError: (text, write) => outputError?.(explainSetting(text), write),
  });
}

/** A flag of another command may be a setting of which this one has no use. */
function explainSetting(text: string): string {
  const flag = /unknown option '(--[a-z-]+)'/.exec(text)?.[1];
  const isSetting = settingNames.some((name) => hasFlag(name) && flagOf(name) === flag);
  return isSetting ? `error: ${flag} is a setting that this command has no use for: leave it out\n` : text;
}
