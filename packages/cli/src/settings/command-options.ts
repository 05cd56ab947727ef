/** Settings as options of a command, with their help texts. */
import { Option } from 'commander';
import { defaultOf, flagOf, type SettingName, settingDefinitions, variableOf } from './schema.ts';

/** Commander derives the setting's name from its flag. */
export function optionOf(name: SettingName): Option {
  const { description, placeholder, isSecret } = settingDefinitions[name];
  const advice = isSecret ? '; prefer the variable, because other users can read command lines' : '';
  const text = `${description}${advice} [${variableOf(name)}, ${defaultOf(name)}]`;
  return new Option(`${flagOf(name)} <${placeholder}>`, text);
}
