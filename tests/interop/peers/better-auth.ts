/** better-auth with its OAuth provider, its device grant and minimal pages, and a guard of ours that takes its tokens. */
import { createGuard, jwtVerifier } from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/fetch';
import { baseOptions, providerOptions } from './better-auth-options.ts';
import { importPeer, listen } from './stage.ts';

/** The account of its user. */
export const answers = { email: 'ada@example.com', password: 'correct horse battery staple' };

interface Auth {
  handler(request: Request): Promise<Response>;
  readonly api: { signUpEmail(call: { readonly body: object }): Promise<unknown> };
}

type Handler = (request: Request) => Promise<Response>;

type Plugin = (options?: object) => object;

const SCOPES = ['notes:read', 'offline_access'];

const TABLES = [
  ...['user', 'session', 'account', 'verification', 'jwks', 'deviceCode', 'oauthClient', 'oauthRefreshToken'],
  ...['oauthAccessToken', 'oauthConsent', 'oauthResource', 'oauthClientResource', 'oauthClientAssertion'],
];

async function loadPackages() {
  const server = 'better-auth/dist/index.mjs';
  const { betterAuth } = await importPeer<{ betterAuth(options: object): Auth }>(server);
  const { jwt } = await importPeer<{ jwt: Plugin }>('better-auth/dist/plugins/jwt/index.mjs');
  const adapter = '@better-auth/memory-adapter/dist/index.mjs';
  const { memoryAdapter } = await importPeer<{ memoryAdapter: Plugin }>(adapter);
  const provider = await importPeer<{
    readonly oauthProvider: Plugin;
    readonly oauthDeviceAuthorization: Plugin;
    oauthProviderAuthServerMetadata(auth: Auth): Handler;
  }>('@better-auth/oauth-provider/dist/index.mjs');
  return { betterAuth, jwt, memoryAdapter, ...provider };
}

/**
 * Starts both on one origin, which it returns; the protected resource is at `/mcp`.
 * @param seen gets the `Authorization` of each request to it
 */
export async function startBetterAuth(seen: string[] = []): Promise<string> {
  const packages = await loadPackages();
  let auth: Auth | undefined;
  const origin = await listen((url) => {
    auth = packages.betterAuth(optionsOf(url, packages));
    return route(auth, recorded(protectResource(url), seen), packages.oauthProviderAuthServerMetadata(auth));
  });
  await auth?.api.signUpEmail({ body: { ...answers, name: 'Ada' } });
  return origin;
}

function optionsOf(url: string, packages: Awaited<ReturnType<typeof loadPackages>>): object {
  const { memoryAdapter, jwt, oauthProvider, oauthDeviceAuthorization } = packages;
  return {
    ...baseOptions(url),
    database: memoryAdapter(Object.fromEntries(TABLES.map((name) => [name, []]))),
    plugins: [
      jwt({ jwks: { keyPairConfig: { alg: 'ES256' } } }),
      oauthProvider(providerOptions(`${url}/mcp`, SCOPES)),
      oauthDeviceAuthorization({ verificationUri: `${url}/device` }),
    ],
  };
}

function protectResource(url: string): Handler {
  const guard = createGuard({
    resource: `${url}/mcp`,
    scopes: ['notes:read'],
    verifier: jwtVerifier({ issuer: `${url}/api/auth` }),
  });
  return protect(guard, async (_request, { subject, clientId, scopes }) =>
    Response.json({ jsonrpc: '2.0', id: 1, result: { subject, clientId, scopes: [...scopes] } }),
  );
}

function recorded(handler: Handler, seen: string[]): Handler {
  return (request) => {
    const sent = request.headers.get('authorization');
    if (sent !== null) seen.push(sent);
    return handler(request);
  };
}

function route({ handler }: Auth, guarded: Handler, metadata: Handler): Handler {
  const pages = createPages(handler);
  return async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === '/mcp' || pathname.startsWith('/.well-known/oauth-protected-resource'))
      return guarded(request);
    if (pathname.startsWith('/.well-known/oauth-authorization-server')) return metadata(request);
    const visited = new Request(request);
    // The user's fetch says `cors`, for which better-auth answers pages with JSON.
    visited.headers.delete('sec-fetch-mode');
    return (pages[pathname] ?? handler)(visited);
  };
}

const FORM = '<form method="post"><input name="email"><input name="password"></form>';

/** The pages that better-auth leaves to the application; they call it as its client plugin in a browser does. */
function createPages(handler: Handler): Readonly<Record<string, Handler>> {
  const call = (page: Request, path: string, init: RequestInit = {}, cookie = page.headers.get('cookie')) => {
    const { origin } = new URL(page.url);
    const headers = { origin, cookie: cookie ?? '', 'content-type': 'application/json' };
    return handler(new Request(`${origin}/api/auth${path}`, { headers, ...init }));
  };
  const signIn = async (page: Request, more: object = {}) =>
    call(page, '/sign-in/email', post({ ...Object.fromEntries(await page.formData()), ...more }));
  return {
    '/login': async (page) =>
      page.method === 'GET' ? html(FORM) : follow(await signIn(page, queryOf(page))),
    '/consent': async (page) => {
      if (page.method === 'GET') return html('<form method="post"><input name="accept"></form>');
      return follow(await call(page, '/oauth2/consent', post({ accept: true, ...queryOf(page) })));
    },
    '/device': async (page) => {
      if (page.method === 'GET') return html(FORM);
      const { search, searchParams } = new URL(page.url);
      const cookie = cookiesOf(await signIn(page)).join('; ');
      await call(page, `/device${search}`, {}, cookie);
      const userCode = searchParams.get('user_code');
      const approved = await call(page, '/device/approve', post({ userCode }), cookie);
      return html(approved.ok ? 'Connected.' : await approved.text());
    },
  };
}

function html(content: string): Response {
  return new Response(content, { headers: { 'content-type': 'text/html' } });
}

function post(body: object): RequestInit {
  return { method: 'POST', body: JSON.stringify(body) };
}

/** The signed query of a page. */
function queryOf(page: Request): object {
  return { oauth_query: new URL(page.url).search.slice(1) };
}

function cookiesOf(response: Response): readonly string[] {
  return response.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0] ?? '');
}

async function follow(response: Response): Promise<Response> {
  const { url } = (await response.json()) as { readonly url: string };
  const headers = new Headers(cookiesOf(response).map((cookie) => ['set-cookie', cookie]));
  headers.set('location', url);
  return new Response(null, { status: 302, headers });
}
