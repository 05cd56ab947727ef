/** Values that are usually known at once: what needs no waiting is done in the same turn. */

/** Synchronous for a value that is known. */
export function mapLater<Value, Result>(
  value: Value | Promise<Value>,
  map: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(map) : map(value);
}
