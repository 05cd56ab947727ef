/** The tolerance for clocks of processes that differ. */

/**
 * Seconds by which the clocks of processes may differ without effect on what they share: a rate limit allows no more, and a live lease
 * is not taken. Times that are farther ahead were written by a wrong clock: what they end is over, and what they record as done was never
 * done.
 */
export const SKEW_TOLERANCE = 60;
