/** Seconds as people say them. */

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** `600 (10 minutes)` */
export function inWords(value: number): string {
  const [unit, size] = UNITS.find(([, seconds]) => value >= seconds && value % seconds === 0) ?? ['', 0];
  if (size === 0) return String(value);
  const count = value / size;
  return `${value} (${count} ${unit}${count === 1 ? '' : 's'})`;
}
