/** Settings as options of a command, with what the help text says of them. */
import { Option } from 'commander';
import { flagOf, type SettingName, table, variableOf } from '../settings.ts';

/** Commander derives the setting's name from its flag. */
export function optionOf(name: SettingName): Option {
  const { what, placeholder, secret } = table[name];
  const advice = secret ? '; other users can read command lines, so rather set the variable' : '';
  return new Option(
    `${flagOf(name)} <${placeholder}>`,
    `${what}${advice} [${variableOf(name)}, ${otherwiseOf(name)}]`,
  );
}

/** What the help text says of a setting that nobody made. */
export function otherwiseOf(name: SettingName): string {
  const { otherwise, otherwiseText } = table[name];
  return otherwise === null || otherwiseText !== undefined ? (otherwiseText ?? 'none') : String(otherwise);
}
