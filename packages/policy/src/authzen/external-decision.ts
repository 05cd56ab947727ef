/** The responses of an external decision point, read strictly: what is not a decision is an error, and never allows. */
import type { PolicyDecision } from '../decision.ts';

/** A response that is none of the specification's. */
export class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
}

/** The path of the setting, as the rule that decided. */
const RULE = 'policy.authzen';

const ALLOW: PolicyDecision = { kind: 'allow' };

/** @throws EvaluationError @see AuthZEN §6.2 */
export function readEvaluation(body: unknown): PolicyDecision {
  const { decision, context } = membersOf(body);
  if (decision === true) return ALLOW;
  if (decision !== false) throw new EvaluationError('its response has no decision');
  const reason = reasonIn(context);
  return {
    kind: 'deny',
    because: {
      rule: RULE,
      reason: reason === null ? 'the decision point refused it' : `the decision point refused it: ${reason}`,
    },
  };
}

/** @throws EvaluationError unless there is a decision for each @see AuthZEN §7.2 */
export function readEvaluations(body: unknown, count: number): readonly PolicyDecision[] {
  const { evaluations } = membersOf(body);
  if (!Array.isArray(evaluations) || evaluations.length !== count)
    throw new EvaluationError(`its response does not have ${count} decisions`);
  return evaluations.map(readEvaluation);
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new EvaluationError('its response is no object');
  return value as Readonly<Record<string, unknown>>;
}

const MAX_REASON = 200;

/** Of the forms that the specification shows, the first text; for the audit log. @see AuthZEN §5.5.2 */
function reasonIn(context: unknown): string | null {
  const { reason, reason_admin: admin, reason_user: user, error } = Object(context);
  const texts = [
    reason,
    ...Object.values(Object(admin)),
    ...Object.values(Object(user)),
    Object(error).message,
  ];
  const found = texts.find((one) => typeof one === 'string' && one !== '');
  return typeof found === 'string' ? found.replace(/[\p{C}\s]+/gu, ' ').slice(0, MAX_REASON) : null;
}
