/**
 * Seconds by which the clocks of processes may differ without effect on what they share: a rate limit allows no more, and a live lease
 * is not taken. Times that are farther ahead were written by a wrong clock, and block for this much longer at most.
 */
export const SKEW_TOLERANCE = 60;
