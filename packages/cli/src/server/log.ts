/** What happens while the program runs, a line each: for people as text, for programs as JSON. */
import type { AuthorizationEvent } from '@portcullis/authorization-server';

/** Takes what happened. It never throws and never waits. */
export type Log = (event: LogEvent) => void;

/** Members that hold no secret, by the nature of those who write events. */
export interface LogEvent {
  readonly type: string;
  /** The log itself says when. */
  readonly at?: never;
  readonly [member: string]: unknown;
}

/**
 * @param write takes one line without its end
 * @param now when what comes happened
 */
export function createLog(
  form: 'text' | 'json' | 'none',
  write: (line: string) => void,
  now: () => Date = () => new Date(),
): Log {
  if (form === 'none') return () => {};
  const format = form === 'json' ? formatJson : formatText;
  return (event) => write(format(now(), event));
}

/** The events of the authorization server go to the log as they are. */
export function eventSink(log: Log): (event: AuthorizationEvent) => void {
  return log;
}

function formatJson(at: Date, event: LogEvent): string {
  // A replacer takes JSON four times as long.
  const text = Object.values(event).every(isPlain)
    ? JSON.stringify(event)
    : JSON.stringify(event, (_name, value: unknown) => withStack(value));
  const members = UNPRINTABLE.test(text) ? text.replaceAll(EACH_UNPRINTABLE, spell) : text;
  // An event has a type at least, so that a member follows.
  return `{"at":"${textOf(at)}",${members.slice(1)}`;
}

/** The moment that was written last: of one there are many events, and writing it takes as long as all else of a line. */
let written = { at: Number.NaN, text: '' };

function textOf(moment: Date): string {
  const at = moment.getTime();
  if (at !== written.at) written = { at, text: moment.toISOString() };
  return written.text;
}

function spell(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
}

/** What JSON leaves as it is and a terminal obeys, or shows as the end of a line or in another order. */
const UNPRINTABLE = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
const EACH_UNPRINTABLE = new RegExp(UNPRINTABLE, 'g');

/** `12:03:11 token.issued clientId=client_x scopes=notes:read,notes:write` */
function formatText(at: Date, { type, ...members }: LogEvent): string {
  const pairs = Object.entries(members)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${formatValue(withStack(value))}`);
  return [at.toISOString().slice(11, 19), type, ...pairs].join(' ');
}

/** An error has no members of its own that JSON would show. */
function withStack(value: unknown): unknown {
  return value instanceof Error ? (value.stack ?? value.message) : value;
}

/** Bare where it can be read without doubt; else as a JSON string, in which nothing can end the line. */
function formatValue(value: unknown): string {
  const text = Array.isArray(value)
    ? value.join(',')
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
  return /^[\w.:/,@+-]+$/.test(text) ? text : JSON.stringify(text).replaceAll(EACH_UNPRINTABLE, '?');
}
