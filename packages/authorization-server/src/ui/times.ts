/** Formats times for users: time ago, durations, dates. */
import { html } from 'hono/html';
import type { Layout } from './layout.ts';
import type { Markup } from './markup.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Older times are shown as a date. */
const STILL_AGO = 14 * DAY;

/** `3 minutes ago`, or the date. Epoch seconds. */
export function timeAgo(layout: Layout, at: number, now: number): Markup {
  return html`<time datetime="${new Date(at * 1000).toISOString()}">${describeTimeAgo(layout, at, now)}</time>`;
}

/**
 * `21 November 2026 at 08:00 UTC`; the script of the page shows it in the reader's time zone. Epoch seconds.
 * @param isExact with seconds
 */
export function dateAndTime({ language }: Layout, at: number, isExact = false): Markup {
  const words = new Intl.DateTimeFormat(regional(language), {
    dateStyle: 'long',
    timeStyle: isExact ? 'medium' : 'short',
    timeZone: 'UTC',
  }).format(at * 1000);
  return html`<time datetime="${new Date(at * 1000).toISOString()}" data-time="${isExact ? 'medium' : 'short'}">${words} UTC</time>`;
}

/** Completes "used …". Never in the future, even if the clock was set back. */
export function describeTimeAgo(layout: Layout, at: number, now: number): string {
  const passed = now - at;
  if (passed < MINUTE) return layout.text('time.just-now');
  if (passed >= STILL_AGO) return layout.text('time.on', { day: describeDay(at, layout.language) });
  const [number, unit] = inUnits(passed);
  return new Intl.RelativeTimeFormat(regional(layout.language)).format(-number, unit);
}

/** `10 minutes`: in the largest unit that fits, rounded down. Seconds. */
export function describeDuration(seconds: number, language: string): string {
  const [number, unit] = inUnits(seconds);
  return new Intl.NumberFormat(regional(language), { style: 'unit', unit, unitDisplay: 'long' }).format(
    number,
  );
}

/** Like `describeDuration`, rounded up. */
export function describeWait(seconds: number, language: string): string {
  return describeDuration(seconds < MINUTE ? seconds : Math.ceil(seconds / MINUTE) * MINUTE, language);
}

function inUnits(seconds: number): readonly [number, 'second' | 'minute' | 'hour' | 'day'] {
  if (seconds < MINUTE) return [seconds, 'second'];
  if (seconds < HOUR) return [Math.floor(seconds / MINUTE), 'minute'];
  if (seconds < DAY) return [Math.floor(seconds / HOUR), 'hour'];
  return [Math.floor(seconds / DAY), 'day'];
}

function describeDay(at: number, language: string): string {
  return new Intl.DateTimeFormat(regional(language), { dateStyle: 'long', timeZone: 'UTC' }).format(
    at * 1000,
  );
}

/** English dates put the day before the month. */
function regional(language: string): string {
  return language === 'en' ? 'en-GB' : language;
}
