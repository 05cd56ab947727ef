/** The notes as a protected application: `portcullis up --app examples/notes/src/app.ts` puts the guard in front of it. */
import { join } from 'node:path';
import { createMcpHandler } from '@modelcontextprotocol/server';
import type { ProtectedApplication } from '@portcullis/cli';
import type { Principal } from '@portcullis/resource-server';
import { openNotes } from './notes.ts';
import { createNotesServer, scopesOfTools } from './server.ts';

export const app: ProtectedApplication = {
  name: 'Notes',
  path: '/mcp',
  // What users read when a client asks for access.
  scopes: {
    'notes:read': 'Read your notes',
    'notes:write': 'Add and delete notes',
  },
  // What the server learns about the user, to greet them.
  claims: ['email', 'name'],
  translations: {
    de: {
      name: 'Notizen',
      scopes: { 'notes:read': 'Ihre Notizen lesen', 'notes:write': 'Notizen hinzufügen und löschen' },
    },
  },
  // Any token may list tools and call whoami. A tool that is not listed needs every scope.
  scopesFor: ({ tool }) => (tool === null ? [] : (scopesOfTools.get(tool) ?? ['notes:read', 'notes:write'])),

  async create({ dataFolder }) {
    const notes = openNotes(dataFolder === null ? ':memory:' : join(dataFolder, 'notes.db'));
    // Serves the stateless protocol of 2026-07-28, and each request of clients of earlier revisions statelessly.
    const handler = createMcpHandler(({ authInfo }) =>
      createNotesServer(notes, authInfo?.extra?.['principal'] as Principal),
    );
    return {
      handle(request, principal) {
        const { clientId, scopes } = principal;
        // The token itself never leaves the guard.
        const authInfo = { token: '', clientId, scopes: [...scopes], extra: { principal } };
        return handler.fetch(request, { authInfo });
      },
      async close() {
        await handler.close();
        notes.close();
      },
    };
  },
};
