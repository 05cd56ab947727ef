/** What callers see of an error in the connection to a backend. */
import { ConnectionRequired } from '../credentials/credential-source.ts';
import { BackendError } from './backend.ts';

/** Errors for callers stay as they are; any other becomes a `BackendError`. */
export function toFailure(error: unknown, name: string): Error {
  if (error instanceof BackendError || error instanceof ConnectionRequired) return error;
  const reason = error instanceof Error ? error.message : 'unknown error';
  return new BackendError('unavailable', `${name} cannot be reached (${reason}).`);
}
