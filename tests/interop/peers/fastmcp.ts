/** A server of fastmcp, whose OAuth proxy is a client of our authorization server. */
import { startPortcullisHere } from '../../support/portcullis-here.ts';
import { reservePort } from '../../support/ports.ts';
import { closeAfterTest, importPeer } from './stage.ts';

/** What is used of fastmcp. */
interface Server {
  addTool(tool: object): void;
  start(options: object): Promise<void>;
  stop(): Promise<void>;
}

interface FastMcp {
  readonly FastMCP: new (options: object) => Server;
  readonly OAuthProvider: new (options: object) => object;
}

const upstream = { client_id: 'fastmcp', client_secret: 'only for tests, and long enough: 0123456789' };

/** Starts both. Returns the origin of fastmcp; the protected resource is at `/mcp`. */
export async function startFastMcp(): Promise<string> {
  const port = await reservePort();
  const origin = `http://127.0.0.1:${port}`;
  const portcullis = await startPortcullisHere({
    clients: [
      {
        ...upstream,
        redirect_uris: [`${origin}/oauth/callback`],
        grant_types: ['authorization_code', 'refresh_token'],
        scope: 'notes:read',
      },
    ],
  });
  closeAfterTest(() => portcullis.stop());
  const logger = { debug() {}, error: console.error, info() {}, log() {}, warn: console.warn };
  const { FastMCP, OAuthProvider } = await importPeer<FastMcp>('fastmcp/dist/FastMCP.js');
  const auth = new OAuthProvider({
    baseUrl: origin,
    authorizationEndpoint: `${portcullis.url}/authorize`,
    tokenEndpoint: `${portcullis.url}/token`,
    clientId: upstream.client_id,
    clientSecret: upstream.client_secret,
    scopes: ['notes:read'],
  });
  const server = new FastMCP({ name: 'notes', version: '1.0.0', auth, logger });
  server.addTool({
    name: 'whoami',
    description: 'The scopes of the upstream token',
    execute: async (
      _input: unknown,
      { session }: { readonly session: { readonly scopes: readonly string[] } },
    ) => session.scopes.join(' '),
  });
  await server.start({
    transportType: 'httpStream',
    httpStream: { port, host: '127.0.0.1', stateless: true },
  });
  closeAfterTest(() => server.stop());
  return origin;
}
