/** The evaluator: rules and a request in, a decision out. Several rules hold together: each of their members has to be met. */
import { type AuthenticationRequirement, missingScopes, unionScopes } from '@portcullis/protocol';
import { type AccessCondition, unmetCondition } from './access-condition.ts';
import type { Consideration, Explanation, PolicyDecision } from './decision.ts';
import { givenMembers, type Unmet, type UnmetMember, unmetMembers } from './members.ts';
import type { AccessRequest } from './request.ts';
import type { LocatedRule, PolicyRule } from './rule.ts';

/** Scope → who may be granted it. */
export type ScopeLimits = Readonly<Record<string, AccessCondition>>;

const ALLOW: PolicyDecision = { kind: 'allow' };

/** Of several unmet members, the first of these decides: those that the user cannot change come first. */
const PRECEDENCE: readonly Unmet['kind'][] = [
  'challenge',
  'deny',
  'insufficient_scope',
  'step_up',
  'approval',
];

interface Located {
  readonly because: Explanation;
  readonly unmet: Unmet;
}

/**
 * Decides about a request. Pure.
 * @param rules those of the operation: of a merged server its own and its member's; none: everything with a token
 * @param limits a challenge never names a scope that the caller cannot be granted: its client would request it again and again
 */
export function decideAccess(
  rules: readonly LocatedRule[],
  request: AccessRequest,
  limits: ScopeLimits = {},
): PolicyDecision {
  let found: readonly Located[] = NONE;
  for (const rule of rules) {
    const members = unmetMembers(rule, request);
    if (members.length > 0)
      found = [...found, ...members.map((one) => ({ unmet: one.unmet, because: explain(rule, one) }))];
  }
  if (found.length > 0) return combine(found, request, limits);
  return rules.length === 0 && request.principal === null ? NO_RULE : ALLOW;
}

const NONE: readonly Located[] = [];

/** Without a rule, no operation is public. */
const NO_RULE: PolicyDecision = {
  kind: 'challenge',
  because: { rule: '', reason: 'there is no token, and no rule makes the operation public' },
};

/** Decides, and lists each member of each rule with its outcome. */
export function explainAccess(
  rules: readonly LocatedRule[],
  request: AccessRequest,
  limits: ScopeLimits = {},
): { readonly decision: PolicyDecision; readonly considered: readonly Consideration[] } {
  const considered = rules.flatMap((rule) => {
    const unmet = unmetMembers(rule, request);
    const met = givenMembers(rule).filter((name) => !unmet.some((one) => one.name === name));
    const isChecked = unmet.every(({ name }) => name !== null);
    return [
      ...unmet.map((one) => ({ ...explain(rule, one), outcome: one.unmet.kind })),
      ...(isChecked ? met : []).map((name) => considerMet(rule, name, request)),
    ];
  });
  return { decision: decideAccess(rules, request, limits), considered };
}

function considerMet(rule: LocatedRule, name: keyof PolicyRule, request: AccessRequest): Consideration {
  const at = memberPath(rule, name);
  if (name !== 'when') return { rule: at, reason: 'met', outcome: 'met' };
  if (request.arguments === 'later' && rule.condition?.readsArguments === true)
    return { rule: at, reason: 'depends on the arguments', outcome: 'open' };
  return { rule: at, reason: 'met', outcome: 'met', values: rule.condition?.values(request) ?? {} };
}

function explain(rule: LocatedRule, { name, unmet }: UnmetMember): Explanation {
  const values = 'values' in unmet ? unmet.values : undefined;
  return { rule: memberPath(rule, name), reason: unmet.reason, ...(values && { values }) };
}

function memberPath({ at, isShort }: LocatedRule, name: string | null): string {
  return name === null || isShort ? at : `${at}.${name}`;
}

function combine(found: readonly Located[], request: AccessRequest, limits: ScopeLimits): PolicyDecision {
  const kind = PRECEDENCE.find((one) => found.some(({ unmet }) => unmet.kind === one));
  const deciding = found.filter(({ unmet }) => unmet.kind === kind);
  const because = deciding[0]?.because ?? { rule: '', reason: '' };
  const unmet = deciding.map((one) => one.unmet);
  switch (kind) {
    case 'insufficient_scope':
      return demandScopes(unmet, request, limits, because);
    case 'step_up':
      return { kind, ...combineRequirements(unmet), because };
    case 'approval':
      return { kind, approvals: approvalsOf(deciding), because };
    case 'challenge':
      return { kind, because };
    default:
      return { kind: 'deny', because };
  }
}

/** The challenge names what the token has as well, so that a step-up loses nothing. */
function demandScopes(
  unmet: readonly Unmet[],
  { principal }: AccessRequest,
  limits: ScopeLimits,
  because: Explanation,
): PolicyDecision {
  const granted = principal?.scopes ?? [];
  const needed = unmet.flatMap((one) => (one.kind === 'insufficient_scope' ? one.scopes : []));
  const never = missingScopes(needed, granted).find((scope) => {
    const limit = Object.hasOwn(limits, scope) ? limits[scope] : undefined;
    return limit !== undefined && principal !== null && unmetCondition(limit, principal) !== null;
  });
  if (never !== undefined)
    return { kind: 'deny', because: { ...because, reason: `the scope ${never} cannot be granted` } };
  return { kind: 'insufficient_scope', needed: unionScopes(granted, needed), because };
}

/** All requirements at once: the shortest age, and the classes that all accept. Without such a class, those of the first. */
function combineRequirements(unmet: readonly Unmet[]): {
  readonly authentication: AuthenticationRequirement | null;
  readonly dpop: boolean;
} {
  const steps = unmet.filter((one) => one.kind === 'step_up');
  const demanded = steps.flatMap(({ authentication }) => authentication ?? []);
  const ages = demanded.flatMap(({ maxAge }) => maxAge ?? []);
  const classes = demanded.flatMap(({ acrValues }) => (acrValues === undefined ? [] : [acrValues]));
  const common = classes[0]?.filter((value) => classes.every((one) => one.includes(value))) ?? [];
  const acrValues = common.length > 0 ? common : classes[0];
  return {
    authentication:
      demanded.length === 0
        ? null
        : { ...(acrValues && { acrValues }), ...(ages.length > 0 && { maxAge: Math.min(...ages) }) },
    dpop: steps.some(({ dpop }) => dpop),
  };
}

function approvalsOf(found: readonly Located[]) {
  return found.flatMap(({ unmet, because }) =>
    unmet.kind === 'approval' ? [{ ...unmet.approval, rule: because.rule }] : [],
  );
}
