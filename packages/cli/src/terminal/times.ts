/** Times as commands write them: ISO 8601 in UTC, from epoch seconds. */

/** To the second. */
export function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000', '');
}

/** `null` stays what it is. */
export function timeOrNull(seconds: number | null): string | null {
  return seconds === null ? null : timeOf(seconds);
}

export function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}
