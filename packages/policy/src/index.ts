/** Access policy: rules as data, one pure evaluator, and conditions in CEL, which are loaded when a rule has one. */
import type { CompileCondition } from './condition.ts';

export * from './access-condition.ts';
export * from './authzen/evaluation.ts';
export * from './authzen/external-decision.ts';
export {
  type CallArguments,
  createCallArguments,
  NO_ARGUMENTS,
} from './call-arguments.ts';
export * from './condition.ts';
export * from './decide-access.ts';
export type * from './decision.ts';
export type { AccessPrincipal, AccessRequest, ToolAnnotations } from './request.ts';
export * from './rule.ts';

/** Loads what compiles conditions. Rules without one do not need it. */
export async function loadConditions(): Promise<CompileCondition> {
  return (await import('./conditions/compile-condition.ts')).compileCondition;
}
