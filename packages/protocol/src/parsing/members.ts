/** The members of a JSON value, read one by one where a schema would load too much. */

/** The members of an object; none of anything else. */
export function membersOf(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>) : {};
}
