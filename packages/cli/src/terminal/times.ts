/** Formats epoch seconds as ISO 8601 in UTC. */

/** To the second. */
export function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000', '');
}

export function timeOrNull(seconds: number | null): string | null {
  return seconds === null ? null : timeOf(seconds);
}

export function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}
