/** Finds the rule for a name in a table of patterns. */
import type { AccessRule, RuleTable } from '../servers/server.ts';

/** The rule for each form of a name; `null` where no pattern matches. */
export type FindRules = (name: string) => readonly (AccessRule | null)[];

/** The forms in which a name may be read; the first is the name itself. */
type FormsOf = (name: string) => readonly string[];

interface Entry {
  readonly pattern: string;
  readonly rule: AccessRule;
}

/**
 * Names are compared exactly, character by character. An exact name wins, then the pattern with the most literal characters.
 * In a pattern `*` matches any characters, also none.
 *
 * Each form of a name needs a rule that allows it. The pattern that matches the name covers its other forms in the same forms: a rule for
 * `a b` is also one for what else `a b` may be read as, but never for a name that is written so.
 */
export function compileRules(table: RuleTable | null, formsOf: FormsOf = (name) => [name]): FindRules {
  if (table === null) return (name) => formsOf(name).map(() => null);
  const entries = Object.entries(table).map(([pattern, rule]) => ({ pattern, rule }));
  const find = compileEntries(entries);
  const finders = new Map<string, FindEntry>();
  const finderWithin = (entry: Entry) => {
    const known = finders.get(entry.pattern) ?? compileEntries([...entries, ...otherForms(entry, formsOf)]);
    finders.set(entry.pattern, known);
    return known;
  };
  return (name) => {
    const own = find(name);
    const others = formsOf(name).slice(1);
    const findOther = own === null || others.length === 0 ? find : finderWithin(own);
    return [own?.rule ?? null, ...others.map((form) => findOther(form)?.rule ?? null)];
  };
}

/** A form with another number of asterisks would match other names. */
function otherForms({ pattern, rule }: Entry, formsOf: FormsOf): readonly Entry[] {
  const asterisks = (text: string) => text.split('*').length;
  return formsOf(pattern)
    .slice(1)
    .filter((form) => asterisks(form) === asterisks(pattern))
    .map((form) => ({ pattern: form, rule }));
}

type FindEntry = (name: string) => Entry | null;

/** Of equal patterns, the first wins. */
function compileEntries(entries: readonly Entry[]): FindEntry {
  const exact = new Map<string, Entry>();
  for (const entry of entries) {
    if (!entry.pattern.includes('*') && !exact.has(entry.pattern)) exact.set(entry.pattern, entry);
  }
  const patterns = entries
    .filter(({ pattern }) => pattern.includes('*'))
    .map((entry) => ({ parts: entry.pattern.split('*'), entry }))
    .toSorted((one, other) => literalLength(other.parts) - literalLength(one.parts));
  return (name) => exact.get(name) ?? patterns.find(({ parts }) => matches(parts, name))?.entry ?? null;
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
