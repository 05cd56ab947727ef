/** The notes of the example, for which a client asks to read only until it wants to write. */
import type { ProtectedApplication } from '@portcullis/cli';
import { app as notes } from '../../examples/notes/src/app.ts';

export const app: ProtectedApplication = { ...notes, defaultScopes: ['notes:read'] };
