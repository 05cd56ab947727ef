/** Compares two texts line by line. Pure. */

/** A line of a comparison: added, removed, or in both. */
export type Line = readonly [sign: '+' | '-' | ' ', text: string];

/**
 * Matches the common prefix and suffix, and between them the longest common subsequence if its cost permits.
 * @param among how many comparisons share the cost of one
 */
export function compareLines(
  before: readonly string[],
  after: readonly string[],
  among = 1,
): readonly Line[] {
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
    ...compareMiddle(
      before.slice(start, before.length - end),
      after.slice(start, after.length - end),
      MAX_CELLS / among,
    ),
    ...after.slice(after.length - end).map(same),
  ];
}

/** Maximum table cells of a comparison; larger ones show all lines as replaced. */
const MAX_CELLS = 4_000_000;

function compareMiddle(
  before: readonly string[],
  after: readonly string[],
  maxCells: number,
): readonly Line[] {
  if (before.length * after.length > maxCells)
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
