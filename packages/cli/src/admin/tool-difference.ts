/** Shows what differs between two definitions of a tool, line by line, with invisible and bidirectional characters escaped. */
import type { PendingDefinitionRecord } from '@portcullis/protocol';
import { cleanJson } from '../terminal/clean.ts';
import type { Styles } from '../terminal/terminal.ts';

type Definition = Pick<PendingDefinitionRecord, 'approvedDefinition' | 'definition'>;

export function formatDifference(
  { approvedDefinition, definition }: Definition,
  { good, bad, faint }: Pick<Styles, 'good' | 'bad' | 'faint'>,
): string {
  const style = { '+': good, '-': bad, ' ': faint };
  const lines = compareLines(linesOf(approvedDefinition), linesOf(definition));
  return lines.map(([sign, line]) => `${style[sign](`${sign} ${line}`)}\n`).join('');
}

function linesOf(definition: string | null): readonly string[] {
  return definition === null ? [] : escapeInvisible(cleanJson(JSON.parse(definition))).split('\n');
}

/** Other spaces, fillers and variation selectors are invisible too. */
const INVISIBLE = /\u034f|[\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]|\p{Variation_Selector}|(?! )\p{Zs}/gu;

function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

type Line = readonly [sign: '+' | '-' | ' ', text: string];

/** Matches the common prefix and suffix, and between them the longest common subsequence if its cost permits. */
function compareLines(before: readonly string[], after: readonly string[]): readonly Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (
    end < Math.min(before.length, after.length) - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end += 1;
  const same = (line: string): Line => [' ', line];
  return [
    ...after.slice(0, start).map(same),
    ...compareMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...after.slice(after.length - end).map(same),
  ];
}

/** Maximum table cells of a comparison; larger ones show all lines as replaced. */
const MAX_CELLS = 4_000_000;

function compareMiddle(before: readonly string[], after: readonly string[]): readonly Line[] {
  if (before.length * after.length > MAX_CELLS)
    return [...before.map((line): Line => ['-', line]), ...after.map((line): Line => ['+', line])];
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: Line[] = [];
  let row = 0;
  let column = 0;
  while (row < before.length || column < after.length) {
    const [old, added] = [before[row], after[column]];
    if (old !== undefined && old === added) {
      lines.push([' ', old]);
      row += 1;
      column += 1;
    } else if (old !== undefined && (added === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push(['-', old]);
      row += 1;
    } else {
      lines.push(['+', added ?? '']);
      column += 1;
    }
  }
  return lines;
}
