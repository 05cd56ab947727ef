/** What an operator says of streams that would outlive their token. */

/** How long an event stream may last. */
export interface StreamOptions {
  /**
   * Seconds beyond the end of its token after which a stream ends that answers another method than GET: it may still
   * carry what an admitted request asked for; 300 when left out. A stream that was opened by GET ends with its token.
   */
  readonly grace?: number;
  /** Seconds between two judgements of the token behind an open stream; 10 when left out. */
  readonly every?: number;
}

export const defaultStreamOptions: Required<StreamOptions> = { grace: 300, every: 10 };
