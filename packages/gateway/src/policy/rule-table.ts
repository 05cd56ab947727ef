/** Finds the rule for a name in a table of patterns. */
import type { AccessRule, RuleTable } from '../servers/server.ts';

/** The rule for a name; `null` when no pattern matches it. */
export type FindRule = (name: string) => AccessRule | null;

/**
 * Names are compared exactly, character by character. An exact name wins, then the pattern with the most literal characters.
 * In a pattern `*` matches any characters, also none.
 */
export function compileRules(table: RuleTable | null): FindRule {
  if (table === null) return () => null;
  const entries = Object.entries(table);
  const exact = new Map(entries.filter(([pattern]) => !pattern.includes('*')));
  const patterns = entries
    .filter(([pattern]) => pattern.includes('*'))
    .map(([pattern, rule]) => ({ parts: pattern.split('*'), rule }))
    .toSorted((one, other) => literalLength(other.parts) - literalLength(one.parts));
  return (name) => exact.get(name) ?? patterns.find(({ parts }) => matches(parts, name))?.rule ?? null;
}

function literalLength(parts: readonly string[]): number {
  return parts.join('').length;
}

/** In linear time. @param parts what is between the asterisks of a pattern; at least two */
function matches(parts: readonly string[], name: string): boolean {
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
