/** JSON in a column of text. */

/** What this store wrote there: the type is the writer's. */
export function readJson<T>(text: string): T {
  return JSON.parse(text) as T;
}
