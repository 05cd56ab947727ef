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

/** The record with these of its members as times in ISO 8601, at its end. */
export function withTimes<T extends object>(record: T, ...names: readonly (keyof T & string)[]): object {
  const others = Object.entries(record).filter(([name]) => !names.some((one) => one === name));
  const times = names.map((name) => [name, timeOrNull(record[name] as number | null)]);
  return Object.fromEntries([...others, ...times]);
}
