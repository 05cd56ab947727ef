/** better-auth with its OAuth provider over SQLite in memory: ES256 JWTs for its resource, opaque tokens without one. Its consent page is answered once for each user, before the measurement. */
import { createServer, type RequestListener } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { baseOptions, providerOptions } from '../../tests/interop/peers/better-auth-options.ts';
import { importPeer } from '../authorization/peers.ts';

const port = Number(process.env['PORT']);
const scopes = ['notes:read', 'notes:write', 'offline_access'];

interface Auth {
  handler(request: Request): Promise<Response>;
  readonly api: {
    signUpEmail(call: object): Promise<{ readonly headers: Headers }>;
    adminCreateOAuthClient(call: object): Promise<object>;
  };
}

type Plugin = (options: object) => object;

const { betterAuth } = await importPeer<{ betterAuth(options: object): Auth }>('better-auth/dist/index.mjs');
const { jwt } = await importPeer<{ jwt: Plugin }>('better-auth/dist/plugins/jwt/index.mjs');
const { oauthProvider } = await importPeer<{ oauthProvider: Plugin }>(
  '@better-auth/oauth-provider/dist/index.mjs',
);
const { toNodeHandler } = await importPeer<{ toNodeHandler(auth: Auth): RequestListener }>(
  'better-auth/dist/integrations/node.mjs',
);
const { getMigrations } = await importPeer<{
  getMigrations(options: object): Promise<{ runMigrations(): Promise<void> }>;
}>('better-auth/dist/db/get-migration.mjs');

const options = {
  ...baseOptions(`http://localhost:${port}`),
  database: new DatabaseSync(':memory:'),
  plugins: [
    jwt({ jwks: { keyPairConfig: { alg: 'ES256' } } }),
    oauthProvider({ ...providerOptions('https://api.example/mcp', scopes), clientPrivileges: () => true }),
  ],
};
await (await getMigrations(options)).runMigrations();
const auth = betterAuth(options);
const handle = toNodeHandler(auth);
const machine = await createMachine();

/** A client for client credentials, which only its administrators can create. */
async function createMachine(): Promise<object> {
  const body = { email: 'admin@example.com', password: 'correct horse battery', name: 'Administrator' };
  const { headers } = await auth.api.signUpEmail({ body, returnHeaders: true });
  const cookie = headers.getSetCookie().map((value) => value.split(';', 1)[0]);
  return auth.api.adminCreateOAuthClient({
    headers: new Headers({ cookie: cookie.join('; ') }),
    body: {
      client_name: 'machine',
      redirect_uris: ['https://machine.example/callback'],
      grant_types: ['client_credentials'],
      client_credentials_scopes: ['notes:read'],
    },
  });
}

createServer((request, response) => {
  if (request.url === '/machine') response.end(JSON.stringify(machine));
  else handle(request, response);
}).listen(port, '127.0.0.1');
