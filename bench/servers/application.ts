/** The smallest application that `portcullis up` can protect. */
import type { ProtectedApplication } from '@portcullis/cli';

export const app: ProtectedApplication = {
  name: 'Notes',
  path: '/mcp',
  scopes: { 'notes:read': 'Read your notes', 'notes:write': 'Add and delete notes' },
  create: async () => ({
    handle: async (_request, principal) => Response.json({ subject: principal.subject }),
    close: async () => {},
  }),
};
