/** The part of `portcullis up --help` about settings without a flag. */
import { describeMembers } from './describe.ts';
import { defaultOf, hasFlag, settingDefinitions, settingNames } from './schema.ts';

const WIDTH = 118;

export function structuredHelp(): string {
  const names = settingNames.filter((name) => !hasFlag(name));
  return [
    'Flags win over environment variables, which win over the configuration file.',
    'The file holds settings by their names in camelCase (publicUrl, keyFile), and those below. Each also has a variable',
    '(PORTCULLIS_METADATA_DOCUMENTS) that holds it as JSON. All of them with examples: docs/configuration.md',
    '',
    ...names.flatMap((name) => {
      const { description, schema } = settingDefinitions[name];
      return [
        ...wrap(plain(`  ${name}: ${description} [${defaultOf(name)}]`), 4),
        ...describeMembers(schema())
          .filter((member) => !member.name.includes('.'))
          .flatMap((member) =>
            wrap(plain(`      ${member.name}: ${member.description} [${member.default}]`), 8),
          ),
      ];
    }),
  ].join('\n');
}

function plain(line: string): string {
  return line.replaceAll('`', '');
}

function wrap(line: string, indent: number): readonly string[] {
  if (line.length <= WIDTH) return [line];
  const cut = line.lastIndexOf(' ', WIDTH);
  return [line.slice(0, cut), ...wrap(`${' '.repeat(indent)}${line.slice(cut + 1)}`, indent)];
}
