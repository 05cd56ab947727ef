/** Errors of outbound requests. */

/** Why an outbound request failed. */
export type OutboundErrorReason =
  /** The SSRF guard blocked the URL or an address that its name resolves to. */
  | 'address'
  /** The name does not resolve, or the server does not respond. */
  | 'unreachable'
  /** This side has no responding name server, route or egress proxy: the target was never contacted. */
  | 'egress'
  /** Request and response together took too long. */
  | 'timeout'
  /** The response is too large. */
  | 'size'
  /** The response has a content encoding that was not requested. */
  | 'encoding';

/**
 * Thrown by outbound requests. The message contains no address: it must not reveal the internal network.
 */
export class OutboundError extends Error {
  override readonly name: string = 'OutboundError';
  readonly reason: OutboundErrorReason;

  constructor(reason: OutboundErrorReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}
