/** A message that is too long to be parsed: inspected and passed on piece by piece. Its result may be cached by its user only. */
import { EVENT_BEGINNING } from '../limits.ts';
import type { createLongWatch } from '../messages/check-responses.ts';

/** @returns the bytes to pass on now @throws SyntaxError */
export type LongMessage = (bytes: Buffer, isLast: boolean) => Buffer;

/** What precedes the data of an event. */
const BEFORE_DATA = /^(?:(?!data).*(?:\r\n|\n|\r(?!\n)))*data:? ?/;

/** Bytes that are retained until more has been inspected: no spelling of `"public"` is longer. */
const LONGEST_SCOPE = '"'.length * 2 + '\\u0070'.length * 'public'.length;

const PRIVATE = Buffer.from('"private"');
const NOTHING = Buffer.alloc(0);

/** @param mayBeCached whether its scope is rewritten */
export function createLongMessage(
  watch: ReturnType<typeof createLongWatch>,
  isEvent: boolean,
  mayBeCached: boolean,
): LongMessage {
  /** Offset of the retained bytes in the message. */
  let from: number | null = null;
  let retained: Buffer = NOTHING;
  let isPrivate = !mayBeCached;
  return (bytes, isLast) => {
    const before = from === null && isEvent ? lengthBeforeData(bytes) : 0;
    from ??= -before;
    const scope = watch(bytes.subarray(before));
    if (isPrivate) return bytes;
    const known = Buffer.concat([retained, bytes]);
    if (scope !== null) {
      isPrivate = true;
      retained = NOTHING;
      const isPublic = scope.type === 'string' && scope.text === 'public';
      if (!isPublic) return known;
      return Buffer.concat([
        known.subarray(0, scope.start - from),
        PRIVATE,
        known.subarray(scope.end - from),
      ]);
    }
    const passed = known.subarray(0, isLast ? known.length : -LONGEST_SCOPE);
    retained = known.subarray(passed.length);
    from += passed.length;
    return passed;
  };
}

/** @throws SyntaxError for an event whose data does not begin in its first piece */
function lengthBeforeData(bytes: Buffer): number {
  const before = BEFORE_DATA.exec(bytes.toString('latin1', 0, EVENT_BEGINNING));
  if (before === null) throw new SyntaxError('its event does not begin with data');
  return before[0].length;
}
