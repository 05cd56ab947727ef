/** Maps that stay small: from one that is full, the entry that came first goes for a new one. */

/** Sets an entry of a map that may have so many. */
export function remember<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  if (map.size >= most && !map.has(key)) forgetFirst(map);
  map.set(key, value);
}

function forgetFirst(map: Map<string, unknown>): void {
  const [first] = map.keys();
  if (first !== undefined) map.delete(first);
}
