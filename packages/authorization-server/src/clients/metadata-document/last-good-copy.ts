/** The rule for using the last good copy of a document whose host cannot be asked now. */
import { RENEWAL_PAUSE } from '../../rate-limit/policies.ts';
import { isAhead } from '../../wrong-clock.ts';
import type { RemoteIssue } from './fetch-json-error.ts';

/** When a copy was fetched, until when it is fresh, and when its host was last asked, successfully or not: epoch seconds. */
export interface CopyTimes {
  readonly fetchedAt: number;
  readonly freshUntil: number;
  readonly askedAt: number;
}

/** Whether the copy need not be renewed. */
export function isFresh({ fetchedAt, freshUntil }: Omit<CopyTimes, 'askedAt'>, now: number): boolean {
  return now < freshUntil && !isAhead(fetchedAt, now);
}

/**
 * Whether the copy may be used although it could not be renewed. 410 withdraws a document; every other failure of its host may be
 * temporary. Lack of budget is no failure of the host: unless the host was asked just now, the document may have been withdrawn.
 * @param lifetime seconds after its fetch for which a copy may be used: no document outlives its withdrawal by more
 */
export function mayUseLastGoodCopy(
  { fetchedAt, freshUntil, askedAt }: CopyTimes,
  issue: RemoteIssue,
  lifetime: number,
  now: number,
): boolean {
  if (issue === 'gone' || now >= fetchedAt + lifetime || isAhead(fetchedAt, now)) return false;
  return issue !== 'budget' || now < Math.max(freshUntil, askedAt + RENEWAL_PAUSE);
}
