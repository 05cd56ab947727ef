/** Compiles conditions in CEL: type-checked, bounded in cost, evaluated to a boolean or to an error. */
import { EvaluationError } from '@marcbachmann/cel-js';
import { foldName, NO_ARGUMENTS, type ReadArguments } from '../call-arguments.ts';
import { type Condition, ConditionError } from '../condition.ts';
import type { AccessRequest } from '../request.ts';
import { type Analysis, analyze } from './analyze.ts';
import { stepsOf } from './cost.ts';
import { createEngine } from './engine.ts';
import { argumentTypes, readValues } from './read-values.ts';
import { readVariables, type VariableValues } from './variables.ts';

/** Characters of a condition. */
const MAX_SOURCE = 2000;
const LIMITS = {
  maxAstNodes: 400,
  maxDepth: 32,
  maxListElements: 200,
  maxMapEntries: 20,
  maxCallArguments: 4,
};
/** Loops in loops. */
const MAX_NESTING = 2;
/** Steps of the loops of an evaluation. */
const MAX_STEPS = 200_000;

const environment = createEngine({ limits: LIMITS, homogeneousAggregateLiterals: false });

/** Compiles a condition. @throws ConditionError with the position of what is wrong */
export function compileCondition(source: string): Condition {
  if (source.length > MAX_SOURCE)
    throw new ConditionError(`a condition has at most ${MAX_SOURCE} characters`);
  const evaluate = parse(source);
  const analysis = analyze(evaluate.ast, (message, at) => {
    throw new ConditionError(message, positionOf(source, at));
  });
  if (analysis.nesting > MAX_NESTING)
    throw new ConditionError(`a condition loops over lists at most ${MAX_NESTING} levels deep`);
  const readsArguments = analysis.paths.some(isArgumentsPath);
  const names = [...analysis.argumentNames].map((name) => [foldName(name), name] as const);

  function readArguments(request: AccessRequest): ReadArguments {
    const { arguments: given } = request;
    if (!readsArguments || given === 'later') return NO_ARGUMENTS.read();
    return given.read();
  }

  return {
    source,
    readsArguments,
    readsTarget: analysis.paths.some(isTargetPath),
    readsCaller: analysis.paths.some(isCallerPath),
    holds(request) {
      try {
        const found = readArguments(request);
        checkNames(names, found);
        const variables = readVariables(request, found.value);
        checkCost(analysis, variables);
        const result: unknown = evaluate(variables);
        if (typeof result === 'boolean') return result;
      } catch (error) {
        throw error instanceof ConditionError
          ? error
          : failed(error, analysis, () => readArguments(request).value);
      }
      throw new ConditionError('the result is not a boolean');
    },
    values: (request) => readValues(analysis.paths, request, () => readArguments(request).value),
  };
}

function parse(source: string) {
  try {
    const parsed = environment.parse(source);
    const { valid, type, error } = parsed.check();
    if (!valid) throw error;
    if (type !== 'bool')
      throw new ConditionError(`a condition must be a boolean, not of type ${type}: compare the value`);
    return parsed;
  } catch (error) {
    if (error instanceof ConditionError) throw error;
    const { summary, range } = Object(error);
    throw new ConditionError(
      typeof summary === 'string' ? summary : 'the condition is malformed',
      typeof range?.start === 'number' ? positionOf(source, range.start) : null,
    );
  }
}

function positionOf(source: string, at: number): ConditionError['position'] {
  const lines = source.slice(0, at).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

function isArgumentsPath([root, member]: readonly string[]): boolean {
  return root === 'call' && (member === undefined || member === 'arguments');
}

function isTargetPath([root, member]: readonly string[]): boolean {
  return root === 'call' && (member === undefined || ['tool', 'prompt', 'resource'].includes(member));
}

/** How the user signed in is known with a token only. */
function isCallerPath([root, member]: readonly string[]): boolean {
  const isOfRequest = member === 'time' || member === 'network';
  return root === 'user' || root === 'client' || (root === 'request' && !isOfRequest);
}

/** A parser that ignores case would take the variant for the member that the condition reads. */
function checkNames(names: readonly (readonly [string, string])[], { names: given }: ReadArguments): void {
  for (const [folded, name] of names) {
    const written = given.get(folded);
    if (written !== undefined && [...written].some((one) => one !== name))
      throw new ConditionError(`the arguments write the member ${name} in other case or form`);
  }
}

function checkCost({ loops }: Analysis, variables: VariableValues): void {
  if (loops.length > 0 && stepsOf(loops, variables) > MAX_STEPS)
    throw new ConditionError('the arguments are too large for the loops of the condition');
}

/** Codes of errors whose text names types. */
const ABOUT_TYPES: readonly unknown[] = ['no_such_overload', 'no_matching_overload'];

/** The text of an error may quote a value, and name a member that is one: only what the condition itself names remains. */
function failed(
  error: unknown,
  { paths, argumentNames }: Analysis,
  readArguments: () => ReadArguments['value'],
): ConditionError {
  const { code, summary, message } = Object(error);
  const text = String(error instanceof EvaluationError ? summary : message);
  const [what = '', name = ''] = text.split(': ');
  const isNamed = argumentNames.has(name) || paths.some((path) => path.includes(name));
  if (ABOUT_TYPES.includes(code))
    return new ConditionError(
      [text, ...argumentTypes(paths.filter(isArgumentsPath), readArguments())].join('; '),
    );
  return new ConditionError(isNamed ? text : (/^[^'"]*/.exec(what)?.[0] ?? ''));
}
