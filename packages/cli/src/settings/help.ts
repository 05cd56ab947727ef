/** The part of `portcullis up --help` about settings that no flag can hold. */
import type { DescribedMember } from './shapes.ts';
import { hasFlag, otherwiseOf, settingNames, table } from './table.ts';

/** Characters of the longest line. */
const WIDTH = 118;

export function structuredHelp(): string {
  const names = settingNames.filter((name) => !hasFlag(name));
  return [
    'Flags win over environment variables, which win over the configuration file.',
    'The file holds settings by their names in camelCase (publicUrl, keyFile), and these besides. Each has a variable too',
    '(PORTCULLIS_METADATA_DOCUMENTS), which holds it as JSON. All of them with examples: docs/configuration.md',
    '',
    ...names.flatMap((name) => {
      const { what, shape } = table[name];
      const members = (shape.members ?? []).map(describeMember);
      return [
        ...wrap(`  ${name}: ${what} [${otherwiseOf(name)}]`, 4),
        ...members.flatMap((line) => wrap(line, 8)),
      ];
    }),
  ].join('\n');
}

function describeMember({ name, what, otherwise }: DescribedMember): string {
  return `      ${name}: ${what} [${otherwise.replaceAll('`', '')}]`.replaceAll('`', '');
}

/** Lines of at most the width, those after the first moved in. */
function wrap(line: string, indent: number): readonly string[] {
  if (line.length <= WIDTH) return [line];
  const cut = line.lastIndexOf(' ', WIDTH);
  const rest = line.slice(cut + 1);
  return [line.slice(0, cut), ...wrap(`${' '.repeat(indent)}${rest}`, indent)];
}
