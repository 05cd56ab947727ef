/** What the pinned definition of a tool says about it: its description, and its hints. */
import type { ApprovalRecord } from '../store/index.ts';

/** What a tool does, as its server declares it: no promise. @see MCP 2025-11-25, ToolAnnotations */
type ToolHint = 'reads' | 'adds' | 'destroys' | 'repeatable' | 'reaches-out';

export interface DescribedTool {
  /** Title and description; `null`: it has none. */
  readonly description: string | null;
  readonly hints: readonly ToolHint[];
}

export function describeTool({ definition }: Pick<ApprovalRecord, 'definition'>): DescribedTool {
  if (definition === null) return { description: null, hints: [] };
  const { title, description, annotations } = Object(JSON.parse(definition));
  const texts = [title, description].filter((one) => typeof one === 'string' && one.trim() !== '');
  return { description: texts.length === 0 ? null : texts.join('\n'), hints: hintsOf(Object(annotations)) };
}

/** Without hints, a tool may do anything. */
function hintsOf({
  readOnlyHint,
  destructiveHint,
  idempotentHint,
  openWorldHint,
}: Readonly<Record<string, unknown>>): readonly ToolHint[] {
  const change = readOnlyHint === true ? 'reads' : destructiveHint === false ? 'adds' : 'destroys';
  return [
    change,
    ...(idempotentHint === true && change !== 'reads' ? (['repeatable'] as const) : []),
    ...(openWorldHint === false ? [] : (['reaches-out'] as const)),
  ];
}
