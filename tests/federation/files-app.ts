/** A protected server for tests: returns what the identity provider says about the user's files, or why it could not. */
import type { ProtectedApplication } from '@portcullis/cli';
import { OAuthError } from '@portcullis/protocol';

const { FILES_API = '' } = process.env;

export const app: ProtectedApplication = {
  name: 'Files',
  path: '/mcp',
  scopes: { 'files:list': 'List your files at Company' },
  create: async ({ upstream }) => ({
    async handle(_request, principal) {
      try {
        const { accessToken } = await upstream.tokenFor(principal, { scopes: ['files:read'] });
        const response = await fetch(FILES_API, { headers: { authorization: `Bearer ${accessToken}` } });
        return Response.json({ there: response.status, ...((await response.json()) as object) });
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error;
        return Response.json({ error: error.code }, { status: error.status });
      }
    },
    close: async () => {},
  }),
};
