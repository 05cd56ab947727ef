/** A compiled condition, and the error of one that does not compile or cannot be evaluated. */
import type { AccessRequest } from './request.ts';

/** A condition in CEL, compiled and type-checked. */
export interface Condition {
  readonly source: string;
  /** Whether it reads the arguments of the call. */
  readonly readsArguments: boolean;
  /** Whether it reads the name of the tool or prompt, or the URI of the resource: it has to hold for every reading of these. */
  readonly readsTarget: boolean;
  /** Whether it reads the user, the client or how the user signed in: with a token it may hold. */
  readonly readsCaller: boolean;
  /** @throws ConditionError if it cannot be evaluated: a missing member, types that do not fit, arguments that are too large */
  holds(request: AccessRequest): boolean;
  /** The values that it reads, without secrets. Never throws. */
  values(request: AccessRequest): ReadValues;
}

/** Compiles a condition. @throws ConditionError with the position of what is wrong */
export type CompileCondition = (source: string) => Condition;

/** The reason why a condition does not compile or cannot be evaluated. */
export class ConditionError extends Error {
  override readonly name = 'ConditionError';
  /** In the source of the condition, from 1; `null` where it concerns all of it. */
  readonly position: { readonly line: number; readonly column: number } | null;

  constructor(message: string, position: ConditionError['position'] = null) {
    super(message);
    this.position = position;
  }
}

/** Values that a condition read, by their paths: `{ "call.arguments.amount": 250 }`. */
export type ReadValues = Readonly<Record<string, string | number | boolean | null>>;
