/** `--watch` of a list: prints what is new in it, until stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanJson } from '../terminal/clean.ts';

/** Never resolves. @param interval milliseconds between queries */
export async function watchList<T extends { readonly id?: unknown }>(
  first: readonly T[],
  find: () => Promise<readonly T[]>,
  interval: number,
  print: (one: T) => void | Promise<void>,
): Promise<never> {
  let seen: ReadonlySet<unknown> = new Set();
  for (let found = first; ; found = await find()) {
    for (const one of found.filter(({ id }) => !seen.has(id))) await print(one);
    seen = new Set(found.map(({ id }) => id));
    await sleep(interval);
  }
}

/** JSON on one line. */
export function jsonLine(value: unknown): string {
  return `${cleanJson(value).replace(/\n\s*/g, '')}\n`;
}
