/** The arguments of a call for the audit log: without the values at configured paths, and within a bound. */
import type { ArgumentAudit } from '../servers/server.ts';

/** Bytes of arguments that are kept; larger ones are represented by their hash only. */
const MAX_BYTES = 4 * 1024;

const REDACTED = '[redacted]';

/** @returns JSON; `null` for arguments that are too long, or not JSON */
export function keptArguments(bytes: Uint8Array, { redact }: ArgumentAudit): string | null {
  if (bytes.length > MAX_BYTES) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return JSON.stringify(redact.reduce((found, path) => without(found, path.split('.')), value));
  } catch {
    return null;
  }
}

/** The value with another one at a path; `*` is any member, and the elements of an array need no name. */
function without(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return REDACTED;
  if (Array.isArray(value)) {
    const isElement = name === '*' || /^\d+$/.test(name);
    return value.map((element: unknown, index) => {
      if (!isElement) return without(element, [name, ...rest]);
      return name === '*' || Number(name) === index ? without(element, rest) : element;
    });
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      name === '*' || name === key ? without(member, rest) : member,
    ]),
  );
}
