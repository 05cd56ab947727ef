/** Shows what differs between two definitions of a tool, line by line, with invisible and bidirectional characters escaped. */
import { compareLines } from '@portcullis/admin/operations';
import type { PendingDefinitionRecord } from '@portcullis/protocol';
import { cleanJson, escapeUnits } from '../terminal/clean.ts';
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
  return definition === null
    ? []
    : cleanJson(JSON.parse(definition)).replace(INVISIBLE, escapeUnits).split('\n');
}

/** Other spaces, fillers and variation selectors are invisible too. */
const INVISIBLE = /\u034f|[\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]|\p{Variation_Selector}|(?! )\p{Zs}/gu;
