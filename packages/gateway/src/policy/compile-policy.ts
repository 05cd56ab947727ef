/** Compiles the rules of a server: the same decision for what is listed and for what is called. */
import { missingScopes, type Scopes, unionScopes } from '@portcullis/protocol';
import type { McpOperation } from '@portcullis/resource-server';
import type { AccessRule, ConditionalAccessRule, GatewayServer } from '../servers/server.ts';
import { isKnownMethod, resemblesKnownMethod } from './known-methods.ts';
import { nameVariants, uriVariants } from './name-variants.ts';
import type { AccessDecision, Caller, Policy, ToolHints } from './policy.ts';
import { compileRules, type FindRule } from './rule-table.ts';

/** What a rule demands. A string: why it is never met by this caller. */
type Demand = Scopes | string;

const NO_SCOPES: Scopes = [];
const ALLOW: AccessDecision = { kind: 'allow' };

type PolicySource = Pick<GatewayServer, 'id' | 'rules' | 'unknownMethods'>;

/** @param offered the scopes of the server: configured or proposed */
export function compilePolicy({ id, rules, unknownMethods }: PolicySource, offered: Scopes): Policy {
  const tools = compileRules(rules.tools);
  const prompts = compileRules(rules.prompts);
  const resources = compileRules(rules.resources);
  const methods = compileRules(rules.methods);
  const reading = proposedScopes(`${id}:read`, offered);
  const writing = proposedScopes(`${id}:write`, offered);

  function demandsOf(operation: McpOperation, caller: Caller, hints: ToolHints | null): readonly Demand[] {
    const { method, tool, prompt, resource } = operation;
    const decide = (find: FindRule, names: readonly string[], otherwise: Scopes) =>
      names.map((name) => demandOf(find(name) ?? otherwise, caller));
    const isReading = hints?.readOnly === true && !hints.destructive;
    return [
      ...decide(methods, [method], NO_SCOPES),
      ...(tool === null ? [] : decide(tools, nameVariants(tool), isReading ? reading : writing)),
      ...(prompt === null ? [] : decide(prompts, nameVariants(prompt), reading)),
      ...(resource === null ? [] : decide(resources, uriVariants(resource), reading)),
    ];
  }

  return {
    decide(operation, caller, hints) {
      if (unknownMethods === 'refuse' && !isKnownMethod(operation.method))
        return { kind: 'deny', reason: 'the method is unknown' };
      if (resemblesKnownMethod(operation.method))
        return { kind: 'deny', reason: 'the method resembles another one' };
      return combine(demandsOf(operation, caller, hints), caller);
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
  const { scopes = NO_SCOPES, clients, groups, claims = {} } = rule as ConditionalAccessRule;
  if (clients?.includes(caller.clientId) === false) return 'the client is none that its rule names';
  if (groups?.some((group) => caller.groups.includes(group)) === false)
    return 'the user is in no group that its rule names';
  const wrong = Object.entries(claims).find(([claim, values]) => !hasClaim(caller, claim, values));
  return wrong === undefined ? scopes : `the claim ${wrong[0]} has no value that its rule names`;
}

function hasClaim({ claims }: Caller, name: string, accepted: readonly string[]): boolean {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.some((one) => one !== undefined && typeof one !== 'object' && accepted.includes(String(one)));
}

/** All demands have to be met; the challenge names what the token has as well, so that a step-up loses nothing. */
function combine(demands: readonly Demand[], { scopes: held }: Caller): AccessDecision {
  const reason = demands.find((demand) => typeof demand === 'string');
  if (reason !== undefined) return { kind: 'deny', reason };
  const needed = demands.filter((demand) => typeof demand !== 'string').flat();
  return missingScopes(needed, held).length === 0
    ? ALLOW
    : { kind: 'insufficient_scope', needed: unionScopes(held, needed) };
}
