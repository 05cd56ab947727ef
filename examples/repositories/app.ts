/** The application in one process with its authorization server: `portcullis up --app examples/repositories/app.ts --config examples/repositories/portcullis.json` */
import type { ProtectedApplication } from '@portcullis/cli';
import { serveRepositories } from './repositories.ts';

export const app: ProtectedApplication = {
  name: 'Repositories',
  path: '/mcp',
  scopes: { 'repositories:read': 'List your repositories at GitHub' },
  create: async ({ upstream }) => serveRepositories(upstream),
};
