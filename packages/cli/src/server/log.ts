/** The event log on standard output, one line per event: text for users, JSON for programs. */
import { escapeUnits } from '../terminal/clean.ts';

/** Logs an event. Never throws and never blocks. */
export type Log = (event: LogEvent) => void;

/** An event. Its members never contain secrets. */
export interface LogEvent {
  readonly type: string;
  /** Set by the log. */
  readonly at?: never;
  readonly [member: string]: unknown;
}

/** @param write receives one line without its line break */
export function createLog(form: 'text' | 'json' | 'none', write: (line: string) => void): Log {
  if (form === 'none') return () => {};
  const format = form === 'json' ? formatJson : formatText;
  return (event) => write(format(new Date(), event));
}

export function formatJson(at: Date, event: LogEvent): string {
  // JSON.stringify is four times slower with a replacer.
  const text = Object.values(event).every(isPlain)
    ? JSON.stringify(event)
    : JSON.stringify(event, (_name, value: unknown) => withStack(value));
  const members = UNPRINTABLE.test(text) ? text.replaceAll(EACH_UNPRINTABLE, escapeUnits) : text;
  // An event has at least a type, so a member follows.
  return `{"at":"${textOf(at)}",${members.slice(1)}`;
}

/** Caches the last timestamp: many events share one, and formatting it costs as much as the rest of the line. */
let lastTimestamp = { at: Number.NaN, text: '' };

function textOf(date: Date): string {
  const at = date.getTime();
  if (at !== lastTimestamp.at) lastTimestamp = { at, text: date.toISOString() };
  return lastTimestamp.text;
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
}

/** Characters that JSON leaves unescaped but a terminal interprets, or renders as line breaks or reordered. */
const UNPRINTABLE = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
const EACH_UNPRINTABLE = new RegExp(UNPRINTABLE, 'g');

/** `12:03:11 token.issued clientId=client_x scopes=notes:read,notes:write` */
export function formatText(at: Date, { type, ...members }: LogEvent): string {
  const pairs = Object.entries(members)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${formatValue(withStack(value))}`);
  return [at.toISOString().slice(11, 19), type, ...pairs].join(' ');
}

/** Replaces an error, which JSON would show as `{}`, by its stack. */
function withStack(value: unknown): unknown {
  return value instanceof Error ? (value.stack ?? value.message) : value;
}

/** Unquoted if unambiguous, otherwise a JSON string, which cannot break the line. */
function formatValue(value: unknown): string {
  const text = Array.isArray(value)
    ? value.join(',')
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
  return /^[\w.:/,@+-]+$/.test(text) ? text : JSON.stringify(text).replaceAll(EACH_UNPRINTABLE, '?');
}
