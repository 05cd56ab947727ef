/** Why a request to somebody else was not made, or its answer not taken. */

/** What stood in the way. */
export type OutboundErrorReason =
  /** The URL or what its name resolves to is not one that may be contacted. */
  | 'address'
  /** The name could not be resolved, or nobody answered there. */
  | 'unreachable'
  /** The whole exchange took too long. */
  | 'timeout'
  /** The answer is larger than allowed. */
  | 'size'
  /** The answer is encoded in a way that was not asked for. */
  | 'encoding';

/** Ends an outbound request. The message names no address that a stranger could learn something from. */
export class OutboundError extends Error {
  override readonly name: string = 'OutboundError';
  readonly reason: OutboundErrorReason;

  constructor(reason: OutboundErrorReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}
