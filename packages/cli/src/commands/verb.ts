/** One command of a group: a few words in the list of the group, sentences in its own help, and the settings that it takes. */
import type { Command } from 'commander';
import type { SettingName } from '../settings/settings.ts';
import { optionOf } from './setting-options.ts';

/** What a command that looks for nothing but the database takes, and for links where the server is reached. */
export const ADMINISTERING: readonly SettingName[] = ['config', 'database', 'publicUrl', 'port'];

/** @param more sentences for its own help, after the summary */
export function addVerb(
  group: Command,
  name: string,
  summary: string,
  settings: readonly SettingName[] = ADMINISTERING,
  more = '',
): Command {
  const sentence = `${summary[0]?.toUpperCase()}${summary.slice(1)}.`;
  const command = group.command(name).summary(summary).description(`${sentence} ${more}`.trim());
  for (const setting of settings) command.addOption(optionOf(setting));
  return command;
}
