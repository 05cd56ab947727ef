/** Cloudflare's workers-oauth-provider in workerd, with its own storage, which protects its own resource. */
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { reservePort } from '../../support/ports.ts';
import { closeAfterTest, importPeer, pathInPeers } from './stage.ts';

/** What is used of Miniflare. */
interface Worker {
  readonly ready: Promise<URL>;
  dispose(): Promise<void>;
}

/** The program of its README with the consent page of its guide, without styles. */
const program = (origin: string) => `
import { OAuthProvider } from './oauth-provider.js';
const seen = [];
const apiHandler = {
  async fetch(request, env, ctx) {
    // workerd closes the connection of a request whose body is not read, which would fail the next call on it.
    await request.text();
    seen.push(request.headers.get('authorization'));
    return Response.json({ jsonrpc: '2.0', id: 1, result: { user: ctx.props.user, scope: ctx.auth.scope } });
  },
};
const defaultHandler = {
  async fetch(request, env) {
    const oauth = env.OAUTH_PROVIDER;
    if (new URL(request.url).pathname === '/log') return Response.json(seen);
    if (request.method === 'GET') {
      const { handle, headers } = await oauth.beginConsent(await oauth.parseAuthRequest(request));
      headers.set('content-type', 'text/html');
      const page = \`<form method="post"><input type="hidden" name="handle" value="\${handle}"></form>\`;
      return new Response(page, { headers });
    }
    const form = await request.formData();
    const handle = form.get('handle');
    const user = (form.get('email') ?? 'ada').split('@')[0];
    const { request: asked, headers } = await oauth.approveConsent(request, handle);
    const { redirectTo } = await oauth.completeAuthorization(
      { request: asked, userId: user, metadata: {}, scope: asked.scope, props: { user } });
    headers.set('location', redirectTo);
    return new Response(null, { status: 302, headers });
  },
};
export default new OAuthProvider({
  apiRoute: '/mcp', apiHandler, defaultHandler,
  authorizeEndpoint: '/authorize', tokenEndpoint: '/token', clientRegistrationEndpoint: '/register',
  scopesSupported: ['notes:read', 'notes:write'], requiredScopes: ['notes:read'],
  resourceMetadata: { resource: '${origin}/mcp', authorization_servers: ['${origin}'] },
});
`;

/** Returns its origin; the protected resource is at `/mcp`. */
export async function startWorker(): Promise<string> {
  const { Miniflare } = await importPeer<{ Miniflare: new (options: object) => Worker }>(
    'miniflare/dist/src/index.js',
  );
  const port = await reservePort();
  const origin = `http://127.0.0.1:${port}`;
  const library = await readFile(
    pathInPeers('@cloudflare/workers-oauth-provider/dist/oauth-provider.js'),
    'utf8',
  );
  const worker = new Miniflare({
    port,
    compatibilityDate: '2026-01-01',
    kvNamespaces: ['OAUTH_KV'],
    handleRuntimeStdio: (...streams: readonly Readable[]) => streams.map((stream) => stream.resume()),
    modules: [
      { type: 'ESModule', path: 'worker.js', contents: program(origin) },
      { type: 'ESModule', path: 'oauth-provider.js', contents: library },
    ],
  });
  closeAfterTest(() => worker.dispose());
  await worker.ready;
  return origin;
}
