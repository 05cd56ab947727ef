/** The rules of a server as the configuration file has them, read-only. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { GatewayServer } from '@portcullis/gateway/options';
import { type RuleRequirements, rulePath } from '@portcullis/policy';
import { TWO_FACTORS } from '@portcullis/protocol';
import { links } from '../links.ts';
import { countOf, empty, table } from '../ui/parts.ts';

/** A rule in words, from its members. */
function sayRule(rule: unknown): string {
  if (rule === false) return 'never allowed';
  if (Array.isArray(rule)) return rule.length === 0 ? 'any token' : `scopes ${rule.join(', ')}`;
  const said = Object.entries(rule as Readonly<Record<string, unknown>>)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => sayMember(name, value));
  return said.length === 0 ? 'any token' : said.join(' · ');
}

function sayMember(name: string, value: unknown): string {
  if (name === 'public') return value === true ? 'no token is needed' : 'a token is needed';
  if (name === 'never') return 'never allowed';
  if (name === 'approval') {
    const { by } = value as { readonly by: 'user' | { readonly groups: readonly string[] } };
    return by === 'user' ? 'an approval by its user' : `an approval by ${by.groups.join(', ')}`;
  }
  if (name === 'requires') return sayRequirements(value as RuleRequirements);
  if (name === 'when') return `when ${String(value)}`;
  const text = Array.isArray(value)
    ? value.join(', ')
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);
  return `${name} ${text}`;
}

function sayRequirements({ acr, maxAge, dpop }: RuleRequirements): string {
  const factors =
    acr === undefined
      ? ''
      : acr.join() === TWO_FACTORS
        ? ' with two factors'
        : ` of class ${acr.join(' or ')}`;
  const age = maxAge === undefined ? '' : ` at most ${sayDuration(maxAge)} ago`;
  return [
    ...(factors + age === '' ? [] : [`a sign-in${factors}${age}`]),
    ...(dpop === true ? ['a token bound to a key (DPoP)'] : []),
  ].join(' · ');
}

function sayDuration(seconds: number): string {
  return seconds % 60 === 0 ? countOf(seconds / 60, 'minute') : countOf(seconds, 'second');
}

/** One row a rule: what it is about, what it demands, and where it is written. A merged server has none. */
export function rulesTable({ rules, path, merges }: GatewayServer, all: readonly GatewayServer[]): Markup {
  if (merges !== null) {
    const members = Object.entries(merges).map(
      ([prefix, member], position) =>
        html`${position > 0 && ', '}<a href="${links.server(member)}">${member}</a> as <code>${prefix}__</code>`,
    );
    return html`<p>The rules of the servers that it merges apply: ${members}.</p>`;
  }
  const index = all.findIndex((one) => one.path === path);
  const rows = Object.entries(rules).flatMap(([kind, written]) =>
    Object.entries(written ?? {}).map(([pattern, rule]) => [
      html`<span class="quiet">${kind}</span> <code>${pattern}</code>`,
      sayRule(rule),
      html`<code>${rulePath(index, kind, pattern)}</code>`,
    ]),
  );
  if (rows.length === 0)
    return empty(
      'No rule is written',
      'Scopes are proposed from what the tools say of themselves: those that only read, and those that change something.',
    );
  return table(
    `Rules of ${path}`,
    [{ heading: 'For', kind: 'short' }, 'Demands', 'In the configuration file'],
    rows,
  );
}
