/** The notes example with `notes:read` by default: writing requires step-up authorization. */
import type { ProtectedApplication } from '@portcullis/cli';
import { app as notes } from '../../examples/notes/src/app.ts';

export const app: ProtectedApplication = { ...notes, defaultScopes: ['notes:read'] };
