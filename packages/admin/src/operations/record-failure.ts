/** Records unknown errors. */
import { newReference } from '@portcullis/authorization-server/pages';
import type { Administration } from './administration.ts';

/** @returns the reference that finds the event of the error */
export function recordFailure(
  { events }: Pick<Administration, 'events'>,
  endpoint: string,
  error: unknown,
): string {
  const reference = newReference();
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  events({ type: 'request.failed', endpoint, reason, reference });
  return reference;
}
