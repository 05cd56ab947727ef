/** Prints what the admin API responds with, as a table or in lines. */
import { isObject } from '../json.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';

/** @param names members that are the columns of a list */
export function describeResponse(found: unknown, names?: readonly string[]): string {
  if (Array.isArray(found)) {
    if (found.length === 0) return 'There are none.\n';
    const rows = found.filter(isObject);
    return columns(rows.map((row) => (names ?? Object.keys(row)).map((name) => cellOf(row[name]))));
  }
  if (!isObject(found)) return `${cleanJson(found)}\n`;
  return columns(Object.entries(found).map(([name, value]) => [cleanLine(name), cellOf(value)]));
}

export function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (isObject(value) && typeof value['email'] === 'string') return cleanLine(value['email']);
  return cleanLine(typeof value === 'string' ? value : JSON.stringify(value));
}
