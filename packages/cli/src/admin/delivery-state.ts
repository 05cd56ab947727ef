/** How far the delivery of events to a receiver is, as text. */
import type { WebhookProgress } from '@portcullis/authorization-server/store';
import { cleanLine } from '../terminal/clean.ts';
import { timeOf } from '../terminal/times.ts';

/** @param none if there was no delivery yet @param latest what happened at the time of the last one */
export function deliveryState(progress: WebhookProgress | null, none: string, latest: string): string {
  if (progress === null) return 'no server has started with it yet';
  const { lastError, attempts, nextAttemptAt, deliveredAt } = progress;
  const last = deliveredAt === null ? none : `${latest} ${timeOf(deliveredAt)}`;
  if (attempts === 0) return last;
  const failures = attempts === 1 ? 'the last attempt failed' : `the last ${attempts} attempts failed`;
  return `${failures} (${cleanLine(lastError ?? '')}), next at ${timeOf(nextAttemptAt)}; ${last}`;
}
