/** Times in words of people: how long ago, for how long, on which day. */
import { html } from 'hono/html';
import type { Markup } from './layout.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** After so long the day itself says more. */
const STILL_AGO = 14 * DAY;

/** `3 minutes ago`, or the day when that says more. Epoch seconds. */
export function ago(at: number, now: number): Markup {
  return html`<time datetime="${new Date(at * 1000).toISOString()}">${agoInWords(at, now)}</time>`;
}

/** `21 November 2026`. Epoch seconds. */
export function day(at: number): Markup {
  return html`<time datetime="${new Date(at * 1000).toISOString().slice(0, 10)}">${dayInWords(at)}</time>`;
}

/** The end of "used …". A clock that was turned back makes nothing be in the future. */
export function agoInWords(at: number, now: number): string {
  const passed = now - at;
  if (passed < MINUTE) return 'just now';
  return passed < STILL_AGO ? `${duration(passed)} ago` : `on ${dayInWords(at)}`;
}

/** `10 minutes`: whole ones of the largest unit that fits, rounded down. Seconds. */
export function duration(seconds: number): string {
  if (seconds < MINUTE) return count(seconds, 'second');
  if (seconds < HOUR) return count(Math.floor(seconds / MINUTE), 'minute');
  if (seconds < DAY) return count(Math.floor(seconds / HOUR), 'hour');
  return count(Math.floor(seconds / DAY), 'day');
}

function count(number: number, unit: string): string {
  return `${number} ${unit}${number === 1 ? '' : 's'}`;
}

const days = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

function dayInWords(at: number): string {
  return days.format(at * 1000);
}
