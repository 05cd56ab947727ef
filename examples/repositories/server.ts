/** The application apart from its authorization server, from which it obtains GitHub tokens by token exchange. `ISSUER=… SECRET=… node server.ts` */
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { createGuard, jwtVerifier } from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/fetch';
import { createUpstreamTokens } from '@portcullis/resource-server/upstream';
import { serveRepositories } from './repositories.ts';

const { PORT = '3000', ISSUER = 'http://localhost:8484', SECRET = '' } = process.env;
const guard = createGuard({
  resource: `http://localhost:${PORT}/mcp`,
  scopes: ['repositories:read'],
  verifier: jwtVerifier({ issuer: ISSUER }),
});
const upstream = createUpstreamTokens({ issuer: ISSUER, clientId: 'repositories', clientSecret: SECRET });
const handle = protect(guard, serveRepositories(upstream).handle);

createServer(getRequestListener(handle)).listen(Number(PORT), 'localhost', () =>
  console.log(`ready http://localhost:${PORT}/mcp`),
);
