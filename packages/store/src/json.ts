/** JSON in a column of text. */

/** Reads JSON that this store wrote; the caller asserts its type. */
export function readJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

/** The same, deeply frozen: for values that are shared. */
export function readFrozenJson<T>(text: string): T {
  return JSON.parse(text, (_name, value: unknown) => Object.freeze(value)) as T;
}

/** Maximum cached lists, and characters of a cached list. */
const MOST = 1000;
const LONGEST = 500;

/** A cache of lists by their text: scopes and resources are few, and read often. */
const cache = new Map<string, readonly string[]>();

/** A list of strings, frozen because it is cached and shared. */
export function readList(text: string): readonly string[] {
  const known = cache.get(text);
  if (known !== undefined) return known;
  const list = Object.freeze(readJson<string[]>(text));
  if (cache.size >= MOST) cache.clear();
  if (text.length <= LONGEST) cache.set(text, list);
  return list;
}
