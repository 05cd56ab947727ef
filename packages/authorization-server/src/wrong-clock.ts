/** The rules for times that a clock recorded which was ahead, of this process or another. */
import { SKEW_TOLERANCE } from '@portcullis/protocol';

/** Whether something cannot have happened at that time, so that it is unknown how long ago it happened: it counts as never done. */
export function isAhead(time: number, now: number): boolean {
  return time > now + SKEW_TOLERANCE;
}

/** Seconds until a time that was at most `most` seconds away when it was recorded; 0 if it is much farther away: it has passed. */
export function secondsUntil(time: number, now: number, most: number): number {
  return isAhead(time - most, now) ? 0 : Math.max(0, time - now);
}
