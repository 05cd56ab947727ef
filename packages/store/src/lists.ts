/** Lists of texts as they stand in a column: JSON. */

/** A list that this store wrote. */
export function readList(json: string): readonly string[] {
  return JSON.parse(json) as readonly string[];
}
