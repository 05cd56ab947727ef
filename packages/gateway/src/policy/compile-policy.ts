/** Compiles the rules of a server: the same decision for what is listed and for what is called. */

import { type AccessCondition, unmetCondition } from '@portcullis/policy';
import { type McpOperation, missingScopes, type Scopes, unionScopes } from '@portcullis/protocol';
import type { Principal } from '@portcullis/resource-server';
import type { AccessRule, ConditionalAccessRule, GatewayServer, RuleTable } from '../servers/server.ts';
import { nameVariants, uriReadings } from './resource-uris.ts';

/** Annotations of a tool that propose scopes when no rule is configured. They are the backend's own claims about itself. */
export interface ToolHints {
  readonly readOnly: boolean;
  readonly destructive: boolean;
}

/** The decision of a policy about one call. */
type AccessDecision =
  | { readonly kind: 'allow' }
  /** The token may do it with more scopes. */
  | { readonly kind: 'insufficient_scope'; readonly needed: Scopes }
  /** No scope would help. `reason` is for the audit log. */
  | { readonly kind: 'deny'; readonly reason: string };

/** Who performs an operation: what rules can name. */
export type Caller = Pick<Principal, 'clientId' | 'scopes' | 'groups' | 'claims'>;

/** The compiled rules of a server. Pure. */
export interface Policy {
  /** @param hints of the tool; `null` when it is unknown, or the operation is none of a tool */
  decide(operation: McpOperation, caller: Caller, hints: ToolHints | null): AccessDecision;
}

/** What a rule demands. A string: why it is never met by this caller. */
type Demand = Scopes | string;

const NO_SCOPES: Scopes = [];
const ALLOW: AccessDecision = { kind: 'allow' };

type PolicySource = Pick<GatewayServer, 'id' | 'rules' | 'unknownMethods'>;

/** Scope → who may be granted it. */
type ScopeLimits = Readonly<Record<string, AccessCondition>>;

/**
 * @param offered the scopes of the server: configured or proposed
 * @param limits a scope that the caller cannot be granted is not asked for: it would be asked for again and again
 */
export function compilePolicy(
  { id, rules, unknownMethods }: PolicySource,
  offered: Scopes,
  limits: ScopeLimits = {},
): Policy {
  const tools = compileRules(rules.tools, formsOfName);
  const prompts = compileRules(rules.prompts, formsOfName);
  const resources = compileRules(rules.resources, uriReadings);
  const methods = compileRules(rules.methods);
  const reading = proposedScopes(`${id}:read`, offered);
  const writing = proposedScopes(`${id}:write`, offered);

  function demandsOf(operation: McpOperation, caller: Caller, hints: ToolHints | null): readonly Demand[] {
    const { method, tool, prompt, resource } = operation;
    const decide = (find: FindRules, name: string, otherwise: Scopes) =>
      find(name).map((rule) => demandOf(rule ?? otherwise, caller));
    const isReading = hints?.readOnly === true && !hints.destructive;
    return [
      ...decide(methods, method, NO_SCOPES),
      ...(tool === null ? [] : decide(tools, tool, isReading ? reading : writing)),
      ...(prompt === null ? [] : decide(prompts, prompt, reading)),
      ...(resource === null ? [] : decide(resources, resource, reading)),
    ];
  }

  return {
    decide(operation, caller, hints) {
      if (unknownMethods === 'refuse' && !isKnownMethod(operation.method))
        return { kind: 'deny', reason: 'the method is unknown' };
      if (resemblesKnownMethod(operation.method))
        return { kind: 'deny', reason: 'the method resembles another one' };
      return combine(demandsOf(operation, caller, hints), caller, limits);
    },
  };
}

/** Where operators have named the scopes otherwise, an operation without a rule needs all of them. */
function proposedScopes(scope: string, offered: Scopes): Scopes {
  return offered.includes(scope) ? [scope] : offered;
}

function demandOf(rule: AccessRule, caller: Caller): Demand {
  if (rule === false) return 'a rule forbids it';
  if (!('scopes' in rule) && Array.isArray(rule)) return rule;
  const conditional = rule as ConditionalAccessRule;
  return unmetCondition(conditional, caller) ?? conditional.scopes ?? NO_SCOPES;
}

/** All demands have to be met; the challenge names what the token has as well, so that a step-up loses nothing. */
function combine(demands: readonly Demand[], caller: Caller, limits: ScopeLimits): AccessDecision {
  const { scopes: granted } = caller;
  const reason = demands.find((demand) => typeof demand === 'string');
  if (reason !== undefined) return { kind: 'deny', reason };
  const needed = demands.filter((demand) => typeof demand !== 'string').flat();
  const missing = missingScopes(needed, granted);
  if (missing.length === 0) return ALLOW;
  const never = missing.find((scope) => isNeverGranted(scope, caller, limits));
  if (never !== undefined) return { kind: 'deny', reason: `the scope ${never} cannot be granted` };
  return { kind: 'insufficient_scope', needed: unionScopes(granted, needed) };
}

function isNeverGranted(scope: string, caller: Caller, limits: ScopeLimits): boolean {
  const condition = Object.hasOwn(limits, scope) ? limits[scope] : undefined;
  return condition !== undefined && unmetCondition(condition, caller) !== null;
}

/** The rule for each form of a name; `null` where no pattern matches. */
type FindRules = (name: string) => readonly (AccessRule | null)[];

const PLAIN = /^[\x21-\x7e]*$/;

function formsOfName(name: string): readonly string[] {
  return PLAIN.test(name) ? [name] : nameVariants(name);
}

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
 * Each form of a name needs a rule that allows it: the name itself that of a pattern as written, its other forms that of a pattern or of one
 * of its forms. So the forms of a pattern forbid, but they never allow a name that is written so.
 */
export function compileRules(table: RuleTable | null, formsOf: FormsOf = (name) => [name]): FindRules {
  if (table === null) return (name) => formsOf(name).map(() => null);
  const entries = Object.entries(table).map(([pattern, rule]) => ({ pattern, rule }));
  const find = compileEntries(entries);
  const findForm = compileEntries([...entries, ...entries.flatMap((entry) => otherForms(entry, formsOf))]);
  return (name) => {
    const [written, ...others] = formsOf(name);
    return [find(written ?? name), ...others.map(findForm)].map((entry) => entry?.rule ?? null);
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

/** The methods of all revisions of MCP that a client may send. */
const METHODS: ReadonlySet<string> = new Set([
  '',
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'subscriptions/listen',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
  'notifications/tasks/status',
]);

/** A response has no method: the empty one. */
function isKnownMethod(method: string): boolean {
  return METHODS.has(method);
}

/** Whether a lenient backend may take an unknown method for a known one: by case, spaces, separators, or characters that look alike. */
function resemblesKnownMethod(method: string): boolean {
  if (METHODS.has(method)) return false;
  const folded = fold(method);
  return [...METHODS].some((known) => known !== '' && fold(known) === folded);
}

function fold(method: string): string {
  return method
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z]/g, '');
}
