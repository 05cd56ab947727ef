/** Compiles the rules of a server: the same decision for what is listed and for what is called. */

import {
  type AccessCondition,
  type McpOperation,
  missingScopes,
  type Scopes,
  unionScopes,
  unmetCondition,
} from '@portcullis/protocol';
import type { AccessRule, ConditionalAccessRule, GatewayServer } from '../servers/server.ts';
import { isKnownMethod, resemblesKnownMethod } from './known-methods.ts';
import { nameVariants, uriVariants } from './name-variants.ts';
import type { AccessDecision, Caller, Policy, ToolHints } from './policy.ts';
import { compileRules, type FindRules } from './rule-table.ts';

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
  const tools = compileRules(rules.tools, nameVariants);
  const prompts = compileRules(rules.prompts, nameVariants);
  const resources = compileRules(rules.resources, uriVariants);
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
