/** What a step-up asks for: the scopes that an operation lacks beside those of the session, once each, and only with consent. */
import { planStepUp } from '../authorization/scope-plan.ts';
import type { ClientSettings } from '../settings.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';
import type { Planner } from './obtainer.ts';

/** Plans for tokens that came short of scopes. */
export type StepUpPlanner = (short: Tokens, needed: readonly string[]) => Planner;

/** Makes the planner of a client. */
export function createStepUpPlanner(configuration: ClientSettings): StepUpPlanner {
  const { retryStepUp, confirmStepUp, emit: tell } = configuration;
  /** Scopes of step-ups in this process: a person who switches one off again has decided. */
  const asked = new Set<string>();

  return (short, needed) => async (discovery) => {
    const before = { requested: short.requestedScopes, granted: short.scopes };
    const again = retryStepUp && needed.some((scope) => !asked.has(scope));
    const wider = planStepUp(discovery, needed, before, again);
    if (wider === null) return null;
    const had = again ? before.granted : before.requested;
    const added = wider.scopes.filter((scope) => !had.includes(scope));
    for (const scope of needed) asked.add(scope);
    tell({ type: 'step_up.requested', added });
    return (await confirmStepUp(added)) ? wider : null;
  };
}
