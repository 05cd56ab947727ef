/** Access policy: rules as data, one pure evaluator, and conditions in CEL, which are loaded when a rule has one. */
import type { CompileCondition } from './condition.ts';

export {
  ACCESS_CONDITION_MEMBERS,
  type AccessCondition,
  type AccessSubject,
  claimsOfConditions,
  joinConditions,
  type UnmetCondition,
  unavailableClaims,
  unmetByClient,
  unmetCondition,
} from './access-condition.ts';
export {
  type Evaluation,
  type EvaluationOptions,
  evaluationKey,
  evaluationOf,
  type GrantSubject,
  grantEvaluation,
  joinEvaluations,
} from './authzen/evaluation.ts';
export { EvaluationError, readEvaluation, readEvaluations } from './authzen/external-decision.ts';
export {
  type CallArguments,
  createCallArguments,
  NO_ARGUMENTS,
} from './call-arguments.ts';
export {
  type CompileCondition,
  type Condition,
  ConditionError,
  type ReadValues,
} from './condition.ts';
export { decideAccess, explainAccess, type ScopeLimits } from './decide-access.ts';
export type { Consideration, Explanation, PolicyDecision, RequiredApproval } from './decision.ts';
export type { AccessPrincipal, AccessRequest, ToolAnnotations } from './request.ts';
export {
  type ApprovalRule,
  claimsOfRules,
  type LocatedRule,
  locateRule,
  type PolicyRule,
  type RuleRequirements,
  readRule,
  rulePath,
  type WrittenRule,
} from './rule.ts';

/** Loads what compiles conditions. Rules without one do not need it. */
export async function loadConditions(): Promise<CompileCondition> {
  return (await import('./conditions/compile-condition.ts')).compileCondition;
}
