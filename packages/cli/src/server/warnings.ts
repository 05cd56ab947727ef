/** Settings that are valid but probably not intended: reported at startup. */
import type { NameOf, Settings } from '../settings/schema.ts';

const DAY = 86_400;

export function findWarnings(
  { lifetimes: { accessToken } }: Pick<Settings, 'lifetimes'>,
  nameOf: NameOf,
): readonly string[] {
  if (accessToken <= DAY) return [];
  const days = Math.round(accessToken / DAY);
  return [
    `${nameOf('lifetimes', ['accessToken'])} is ${accessToken} seconds, about ${days} ${days === 1 ? 'day' : 'days'}: for that long, guards that verify only signatures accept revoked tokens; 600 are 10 minutes`,
  ];
}
