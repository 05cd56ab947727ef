/** Times of events: their identifiers begin with it. */

/** Milliseconds. */
export const DAY = 86_400_000;
export const HOUR = 3_600_000;
export const MINUTE = 60_000;

/** Milliseconds after an hour in which events of it are still written. `audit.delayed` reports those that are later. */
export const LATE = 600_000;

/** The begin of the hour that a time is in. @param at epoch milliseconds */
export function hourOf(at: number): number {
  return Math.floor(at / HOUR) * HOUR;
}

/** Digits of the time that an event ID begins with. */
const TIME_DIGITS = 9;

/** The prefix of every event ID created at a time. @param at epoch milliseconds */
export function idPrefixOf(at: number): string {
  return Math.floor(at).toString(36).padStart(TIME_DIGITS, '0');
}

/** Epoch milliseconds. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, TIME_DIGITS), 36);
}
