/** Settings as options of a command, with what the help text says of them. */
import { Option } from 'commander';
import { flagOf, type SettingName, variableOf } from '../settings/settings.ts';
import { otherwiseOf, table } from '../settings/table.ts';

/** Commander derives the setting's name from its flag. */
export function optionOf(name: SettingName): Option {
  const { what, placeholder, secret } = table[name];
  const advice = secret ? '; other users can read command lines, so rather set the variable' : '';
  return new Option(
    `${flagOf(name)} <${placeholder}>`,
    `${what}${advice} [${variableOf(name)}, ${otherwiseOf(name)}]`,
  );
}
