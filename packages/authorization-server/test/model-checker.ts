/** A small model checker: visits every state that a model can reach, breadth first, and checks an invariant in each. */

/** A step that a model may take: its name, and the state after it. */
export type Step<State> = readonly [name: string, after: State];

export interface Model<State> {
  readonly initial: State;
  /** Every step that is possible in a state. */
  steps(state: State): Iterable<Step<State>>;
  /** What is wrong with a state; `null`: nothing. */
  violation(state: State): string | null;
}

export interface ModelCheckResult {
  /** How many states were visited. */
  readonly states: number;
  /** The first violation, with the shortest way to it; `null`: there is none. */
  readonly violation: { readonly what: string; readonly steps: readonly string[] } | null;
}

/** States are compared by their JSON. @throws Error when there are more states than `most` */
export function checkModel<State>(model: Model<State>, most = 2_000_000): ModelCheckResult {
  const waysTo = new Map<string, Way>();
  const waiting: { readonly key: string; readonly state: State }[] = [];
  const visit = (state: State, way: Way): string => {
    const key = JSON.stringify(state);
    if (!waysTo.has(key)) {
      waysTo.set(key, way);
      waiting.push({ key, state });
    }
    return key;
  };
  visit(model.initial, null);
  for (let index = 0; index < waiting.length; index += 1) {
    if (index > most) throw new Error(`more than ${most} states`);
    const { key, state } = waiting[index] as (typeof waiting)[number];
    const what = model.violation(state);
    if (what !== null) {
      return { states: index + 1, violation: { what, steps: stepsTo(waysTo, key) } };
    }
    for (const [name, after] of model.steps(state)) visit(after, [key, name]);
  }
  return { states: waiting.length, violation: null };
}

/** The state before, and the step from it. */
type Way = readonly [from: string, step: string] | null;

function stepsTo(waysTo: ReadonlyMap<string, Way>, to: string): readonly string[] {
  const steps: string[] = [];
  for (let way = waysTo.get(to) ?? null; way !== null; way = waysTo.get(way[0]) ?? null)
    steps.unshift(way[1]);
  return steps;
}
