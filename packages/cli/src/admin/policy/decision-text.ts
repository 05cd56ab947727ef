/** Decisions as text: what was decided, by which rule, and what it read. */
import type { Consideration, Explanation, PolicyDecision } from '@portcullis/policy';
import { cleanLine } from '../../terminal/clean.ts';
import { columns } from '../../terminal/columns.ts';

const SENTENCES: { readonly [K in PolicyDecision['kind']]: string } = {
  allow: 'allowed',
  challenge: 'refused: it needs an access token',
  deny: 'refused',
  insufficient_scope: 'refused: it needs more scopes',
  step_up:
    'refused until the user signs in again, with two factors or more recently, or the client binds the token to a key',
  approval: 'needs an approval',
};

/** One line, and the values that the deciding condition read. @param open conditions that depend on unknown arguments */
export function decisionText(decision: PolicyDecision, open: readonly Consideration[] = []): string {
  const sentence = SENTENCES[decision.kind];
  // Not by a rule of the configuration: without one, an operation needs a token as well.
  if (decision.kind === 'challenge') return `${sentence}\n`;
  if (decision.kind !== 'allow') return `${sentence}, ${becauseText(decision.because)}`;
  return open.length === 0 ? `${sentence}\n` : `${sentence}, if the arguments meet ${rulesOf(open)}\n`;
}

function rulesOf(found: readonly Consideration[]): string {
  return found.map(({ rule }) => cleanLine(rule)).join(' and ');
}

/** `by servers[0].tools["delete_*"].when: the condition does not hold`, and a line for each value. */
export function becauseText({ rule, reason, values = {} }: Explanation): string {
  const rows = Object.entries(values).map(([path, value]) => [`    ${path}`, JSON.stringify(value)]);
  return `by ${cleanLine(rule)}: ${cleanLine(reason)}\n${columns(rows.map((row) => row.map(cleanCell)))}`;
}

/** Keeps the indentation. */
function cleanCell(text: string): string {
  return text.startsWith(' ') ? `    ${cleanLine(text)}` : cleanLine(text);
}

/** Each member that was considered, with its outcome. */
export function consideredText(considered: readonly Consideration[]): string {
  return columns(
    considered.map(({ outcome, rule, reason }) => [`  ${outcome}`, cleanLine(rule), cleanLine(reason)]),
  );
}
