/** What the loops of a condition cost: steps, by the sizes of the values that they are over and that each step reads. */
import type { Loop } from './analyze.ts';
import { valueAt } from './read-values.ts';
import type { Path } from './syntax-tree.ts';

/** Characters of a text that cost as much as one value. */
const TEXT_UNIT = 256;

/** Steps of all loops: nodes of expressions and values that are read, times elements. */
export function stepsOf(loops: readonly Loop[], variables: object): number {
  const sizeAt = (path: Path): number => sizeOf(valueAt(variables, path));
  const timesOf = ({ outer, range }: Loop): number =>
    (typeof range === 'number' ? range : sizeAt(range)) * (outer === null ? 1 : timesOf(outer));
  return loops.reduce((sum, loop) => {
    const read = loop.reads.reduce((total, path) => total + sizeAt(path), 0);
    return sum + timesOf(loop) * (loop.nodes + read);
  }, 0);
}

/** Values, and texts in pieces. Nesting is limited. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 1 + Math.floor(value.length / TEXT_UNIT);
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, one) => sum + sizeOf(one), 1);
}
