/** What may be meant as it stands, and more likely is not: told at the start, and no reason against it. */
import type { FoundSettings } from './resolve.ts';
import type { Settings } from './settings.ts';

const DAY = 86_400;

export function warningsOf(
  { lifetimes: { accessToken } }: Pick<Settings, 'lifetimes'>,
  nameOf: FoundSettings['nameOf'],
): readonly string[] {
  if (accessToken === undefined || accessToken <= DAY) return [];
  const days = Math.round(accessToken / DAY);
  return [
    `${nameOf('lifetimes', ['accessToken'])} is ${accessToken} seconds, about ${days} ${days === 1 ? 'day' : 'days'}, for which a guard that only checks signatures takes a token whose access has ended: 600 are 10 minutes`,
  ];
}
