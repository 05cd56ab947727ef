/** Compiles the rules of a server: the same decision for what is listed and for what is called. */
import {
  type AccessRequest,
  type CompileCondition,
  type Condition,
  decideAccess,
  explainAccess,
  type LocatedRule,
  locateRule,
  type PolicyDecision,
  readRule,
  rulePath,
  type ScopeLimits,
  type ToolAnnotations,
} from '@portcullis/policy';
import { AROUND_OPERATIONS, type McpOperation, type Scopes } from '@portcullis/protocol';
import type { AccessRules, GatewayServer, RuleTable } from '../servers/server.ts';
import { isKnownMethod, resemblesKnownMethod } from './methods.ts';
import { isUnreadable, nameReadings, readingsOf, uriReadings } from './resource-uris.ts';

/** The member of a server that refuses them. */
export const UNKNOWN_METHODS = 'unknownMethods';

/** The compiled rules of a server. Pure. */
export type Policy = ReturnType<typeof compilePolicy>;

interface PolicySource extends Pick<GatewayServer, 'id' | 'rules' | 'unknownMethods'> {
  /** The index in the configuration, for the paths of rules. */
  readonly index: number;
}

interface CompileOptions {
  /** The scopes of the server: configured or proposed. */
  readonly offered: Scopes;
  /** Scopes that not every user can be granted: one that the caller cannot be granted would be asked for again and again. */
  readonly limits?: ScopeLimits;
  /** `null`: no rule has a condition. */
  readonly compile?: CompileCondition | null;
}

/** @throws ConditionError for a condition that does not compile */
export function compilePolicy(
  { index, id, rules, unknownMethods }: PolicySource,
  { offered, limits = {}, compile = null }: CompileOptions,
) {
  const find = (table: keyof AccessRules, formsOf?: FormsOf) =>
    compileRules(locateRules(index, table, rules[table], compile), formsOf);
  const [tools, prompts] = [find('tools', nameReadings), find('prompts', nameReadings)];
  const [resources, methods] = [find('resources', uriReadings), find('methods')];
  const at = `servers[${index}]`;
  const reading = locateRule(`${at}.scopes`, proposedScopes(`${id}:read`, offered), null);
  const writing = locateRule(`${at}.scopes`, proposedScopes(`${id}:write`, offered), null);
  const otherMethod = locateRule(`${at}.methods`, {}, null);
  const openMethod = locateRule(`${at}.methods`, { public: true }, null);
  const unknown = locateRule(`${at}.${UNKNOWN_METHODS}`, false, null);
  const alike = locateRule('a method that resembles another one', false, null);
  const unreadable = locateRule('a URI whose host is too long', false, null);
  const open = openMethodsOf(rules);

  /** The rules of an operation, all of which have to be met. @param hints of the tool; `null` when it is unknown */
  function rulesFor(
    { method, tool, prompt, resource }: McpOperation,
    hints: ToolAnnotations | null,
  ): readonly LocatedRule[] {
    if (unknownMethods === 'refuse' && !isKnownMethod(method)) return [unknown];
    if (resemblesKnownMethod(method)) return [alike];
    if (resource !== null && isUnreadable(resource)) return [unreadable];
    const isReading = hints?.readOnly === true && !hints.destructive;
    // Without spreads: this runs twice for each call.
    const target: LocatedRule[] = [];
    if (tool !== null) addRules(target, tools(tool), isReading ? reading : writing);
    if (prompt !== null) addRules(target, prompts(prompt), reading);
    if (resource !== null) addRules(target, resources(resource), reading);
    // Whether an operation needs a token is decided by its target, where it has one.
    const isOpen = target.length > 0 ? target.some(({ rule }) => rule.public === true) : open.has(method);
    const found: LocatedRule[] = [];
    addRules(found, methods(method), isOpen ? openMethod : otherMethod);
    return found.concat(target);
  }

  return {
    limits,
    rulesFor,
    decide: (request: AccessRequest): PolicyDecision =>
      decideAccess(rulesFor(request.operation, request.annotations), request, limits),
    /** The same decision, with each member that was considered. */
    explain: (request: AccessRequest) =>
      explainAccess(rulesFor(request.operation, request.annotations), request, limits),
  };
}

function addRules(
  rules: LocatedRule[],
  found: readonly (LocatedRule | null)[],
  otherwise: LocatedRule,
): void {
  for (const rule of found) rules.push(rule ?? otherwise);
}

/** Where operators have named the scopes otherwise, an operation without a rule needs all of them. */
function proposedScopes(scope: string, offered: Scopes): Scopes {
  return offered.includes(scope) ? [scope] : offered;
}

function locateRules(
  index: number,
  table: keyof AccessRules,
  rules: RuleTable | null,
  compile: CompileCondition | null,
): Readonly<Record<string, LocatedRule>> | null {
  if (rules === null) return null;
  const compileEach = compile && ((source: string) => ofEveryReading(compile(source)));
  const entries = Object.entries(rules).map(
    ([pattern, rule]) => [pattern, locateRule(rulePath(index, table, pattern), rule, compileEach)] as const,
  );
  return Object.fromEntries(entries);
}

/** A condition that holds only if it does for every reading of the name or URI that it reads. */
function ofEveryReading(condition: Condition): Condition {
  if (!condition.readsTarget) return condition;
  return {
    ...condition,
    holds: (request) => readingsOf(request).every(condition.holds),
    values: (request) =>
      condition.values(readingsOf(request).find((one) => !isMet(condition, one)) ?? request),
  };
}

function isMet(condition: Condition, request: AccessRequest): boolean {
  try {
    return condition.holds(request);
  } catch {
    return false;
  }
}

/** The lists in which each kind of operation appears. */
const LISTS: { readonly [K in Exclude<keyof AccessRules, 'methods'>]: readonly string[] } = {
  tools: ['tools/list'],
  prompts: ['prompts/list'],
  resources: ['resources/list', 'resources/templates/list'],
};

/** Methods that need no token because a public operation does not. */
function openMethodsOf(rules: AccessRules): ReadonlySet<string> {
  const lists = Object.entries(LISTS).flatMap(([table, methods]) =>
    hasPublicRule(rules[table as keyof typeof LISTS]) ? methods : [],
  );
  return new Set(Object.values(rules).some(hasPublicRule) ? [...AROUND_OPERATIONS, ...lists] : []);
}

function hasPublicRule(table: RuleTable | null): boolean {
  return Object.values(table ?? {}).some((rule) => readRule(rule).public === true);
}

/** The rule for each form of a name; `null` where no pattern matches. */
type FindRules = (name: string) => readonly (LocatedRule | null)[];

/** The forms in which a name may be read; the first is the name itself. */
type FormsOf = (name: string) => readonly string[];

interface Entry {
  readonly pattern: string;
  readonly rule: LocatedRule;
}

/**
 * Names are compared exactly, character by character. An exact name wins, then the pattern with the most literal characters.
 * In a pattern `*` matches any characters, also none.
 *
 * Each form of a name needs a rule that allows it: the name itself that of a pattern as written, its other forms that of a pattern or of one
 * of its forms. So the forms of a pattern forbid, but they never allow a name that is written so.
 */
export function compileRules(
  table: Readonly<Record<string, LocatedRule>> | null,
  formsOf: FormsOf = (name) => [name],
): FindRules {
  if (table === null) return (name) => formsOf(name).map(() => null);
  const entries = Object.entries(table).map(([pattern, rule]) => ({ pattern, rule }));
  const find = compileEntries(entries);
  const findForm = compileEntries([...entries, ...entries.flatMap((entry) => otherForms(entry, formsOf))]);
  return (name) => {
    const forms = formsOf(name);
    return forms.map((form, index) => (index === 0 ? find : findForm)(form)?.rule ?? null);
  };
}

/** A form with more asterisks would match other names. */
function otherForms({ pattern, rule }: Entry, formsOf: FormsOf): readonly Entry[] {
  const asterisks = (text: string) => text.split('*').length;
  return formsOf(pattern)
    .slice(1)
    .filter((form) => asterisks(form) <= asterisks(pattern))
    .map((form) => ({ pattern: form, rule }));
}

/** Of equal patterns, the first wins. */
function compileEntries(entries: readonly Entry[]): (name: string) => Entry | null {
  const exact = new Map<string, Entry>();
  for (const entry of entries) {
    if (!entry.pattern.includes('*') && !exact.has(entry.pattern)) exact.set(entry.pattern, entry);
  }
  const patterns = entries
    .filter(({ pattern }) => pattern.includes('*'))
    .map((entry) => ({ parts: entry.pattern.split('*'), entry }))
    .toSorted((one, other) => other.parts.join('').length - one.parts.join('').length);
  return (name) => exact.get(name) ?? patterns.find(({ parts }) => matches(parts, name))?.entry ?? null;
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
