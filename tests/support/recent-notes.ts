/** The notes example, which demands a recent sign-in for writing and two factors for reading (RFC 9470). */
import type { ProtectedApplication } from '@portcullis/cli';
import { app as notes } from '../../examples/notes/src/app.ts';

/** Seconds since the sign-in. */
export const MAX_AGE = 2;

/** Seconds after which a sign-in is too old: the guard tolerates a clock that is five seconds ahead. */
export const TOO_OLD: number = MAX_AGE + 6;

export const app: ProtectedApplication = {
  ...notes,
  authenticationFor: ({ tool }) =>
    tool === 'add_note' ? { maxAge: MAX_AGE } : tool === 'list_notes' ? { acrValues: ['2fa'] } : null,
};
