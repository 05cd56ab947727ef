/** The arguments of a call for the audit log: without the values at configured paths, and within a bound. */
import { MAX_AUDIT_ARGUMENTS } from '../limits/bounds.ts';
import type { ArgumentAudit } from '../servers/server.ts';

const REDACTED = '[redacted]';

/** @returns JSON; `null` for arguments that are too long, or not JSON */
export function retainedArguments(bytes: Uint8Array, { redact }: ArgumentAudit): string | null {
  if (bytes.length > MAX_AUDIT_ARGUMENTS) return null;
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
