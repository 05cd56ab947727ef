/** Errors of operations, which each interface reports in its own way. */

/** `invalid`: the input cannot be used; `conflict`: the state does not allow it. */
type OperationErrorKind = 'not_found' | 'invalid' | 'conflict';

/** As a status of HTTP. */
const STATUSES = { not_found: 404, invalid: 400, conflict: 409 } as const;

/** An operation that was refused: nothing has changed. Its message says what to do. */
export class OperationError extends Error {
  override readonly name: string = 'OperationError';
  readonly kind: OperationErrorKind;
  readonly status: (typeof STATUSES)[OperationErrorKind];

  constructor(kind: OperationErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.status = STATUSES[kind];
  }
}

/** @throws OperationError unless it was found */
export function found<T>(value: T | null | undefined | false, what: string): T {
  if (value === null || value === undefined || value === false) {
    throw new OperationError('not_found', `There is no ${what}: list them for those that there are.`);
  }
  return value;
}
