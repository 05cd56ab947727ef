/** docs/http-api.md: every route of the authorization server and of the program, with what it is for. */
import { type AuthorizationServer, createAuthorizationServer } from '@portcullis/authorization-server';
import { AUTHORIZATION_PARAMETERS } from '@portcullis/protocol';
import { openStore } from '@portcullis/store';
import { table } from './markdown.ts';

interface Endpoint {
  readonly purpose: string;
  readonly standard?: string;
  /** Parameters, headers or members; optional ones end with `?`. */
  readonly takes?: string;
  readonly answers: string;
  /** The setting that switches it on. */
  readonly setting?: string;
}

const CLIENT = 'client authentication';

/** Parameters that every request without a request object has. */
const REQUIRED = ['response_type', 'client_id', 'redirect_uri', 'code_challenge', 'code_challenge_method'];

/** What programs call. The method is part of the key where a path has several meanings. */
const PROTOCOL: Readonly<Record<string, Endpoint>> = {
  '/.well-known/oauth-authorization-server': {
    purpose: 'metadata of the server; for an issuer with a path also with the path behind it',
    standard: 'RFC 8414',
    takes: '`MCP-Protocol-Version?`',
    answers: 'the document',
  },
  '/.well-known/openid-configuration': {
    purpose: 'the same for clients that look here; no ID tokens are issued',
    standard: 'OpenID Connect Discovery 1.0',
    answers: 'the document',
  },
  '/authorize': {
    purpose: 'starts an authorization: sign-in, consent, code',
    standard: 'OAuth 2.1 §4.1.1',
    takes: `${authorizationParameters()}; or \`request_uri\`, or \`request\``,
    answers: 'a page, then a redirect with `code`, `state`, `iss`, or `error`',
  },
  '/par': {
    purpose: 'takes an authorization request over a direct connection',
    standard: 'RFC 9126, RFC 9101',
    takes: `the parameters of \`/authorize\`, or \`request\`; ${CLIENT}`,
    answers: '201 `request_uri`, `expires_in`',
  },
  '/token': {
    purpose: 'issues tokens',
    standard: 'OAuth 2.1 §3.2, RFC 8693, RFC 7523, RFC 8628, RFC 9449',
    takes: `\`grant_type\` and its parameters, \`resource?\`, \`scope?\`, \`DPoP?\`; ${CLIENT}`,
    answers: '`access_token`, `token_type`, `expires_in`, `scope`, `refresh_token?`',
  },
  '/device_authorization': {
    purpose: 'starts a sign-in on another device',
    standard: 'RFC 8628',
    takes: `\`scope?\`, \`resource?\`; ${CLIENT}`,
    answers:
      '`device_code`, `user_code`, `verification_uri`, `verification_uri_complete`, `expires_in`, `interval`',
    setting: 'deviceAuthorization',
  },
  '/register': {
    purpose: 'registers a client',
    standard: 'RFC 7591',
    takes: 'client metadata as JSON; an initial access token, if required',
    answers: '201 the metadata with `client_id`, `client_secret?`, `registration_access_token`',
    setting: 'registration',
  },
  '/register/*': {
    purpose: 'reads, changes or removes a registration',
    standard: 'RFC 7592',
    takes: 'the registration access token; for PUT the metadata',
    answers: 'the metadata; 204 after DELETE',
    setting: 'registration',
  },
  '/revoke': {
    purpose: 'ends a token, and with a refresh token its grant',
    standard: 'RFC 7009',
    takes: `\`token\`, \`token_type_hint?\`; ${CLIENT}`,
    answers: '200, also for an unknown token; 400 for one of another client',
  },
  '/introspect': {
    purpose: 'says whether a token is live, to the clients in `introspectionClients` of its resource',
    standard: 'RFC 7662',
    takes: `\`token\`, \`token_type_hint?\`; ${CLIENT}`,
    answers: '`active`, and the claims',
  },
  '/back-channel-logout/company': {
    purpose: '`/back-channel-logout/<id>`: an identity provider reports a logout',
    standard: 'OpenID Connect Back-Channel Logout 1.0',
    takes: '`logout_token`',
    answers: '200',
    setting: 'identityProviders',
  },
  '/shared-signals/company': {
    purpose: '`/shared-signals/<id>`: the transmitter of an identity provider pushes a security event token',
    standard: 'RFC 8935, Shared Signals Framework 1.0',
    takes: '`application/secevent+jwt`',
    answers: '202; 400 with `err` and `description`',
    setting: 'identityProviders',
  },
  '/scim/v2/*': {
    purpose:
      '[provisioning](guides/provisioning.md) of users and groups: `/Users`, `/Groups`, `/Bulk`, `/ServiceProviderConfig`, `/ResourceTypes`, `/Schemas`, `/Users/.search`',
    standard: 'RFC 7644, RFC 9865',
    takes: 'a token of `portcullis scim tokens create`; `application/scim+json`',
    answers: '`application/scim+json`; errors with `scimType` and `detail`',
    setting: 'identityProviders',
  },
  '/jwks': { purpose: 'public signing keys', standard: 'RFC 7517', answers: 'the key set' },
};

/** What browsers open. */
const PAGES: Readonly<Record<string, string>> = {
  '/login':
    'signs in with a password; `/login/passkey` with a passkey, `/login/code` with the second factor, `/login/<id>` at an identity provider',
  '/login/forgotten': 'what to do without the password; with the setting `mail` sends a link',
  '/login/link': 'sends a sign-in link by mail; `/login/link/open` takes it (`mail`)',
  '/consent': 'what the app asks for, and the answer',
  '/callback/company': '`/callback/<id>`: the redirect URI for an identity provider',
  '/device': 'the code that a device shows',
  '/connections': 'the user’s connections; ends them',
  '/connections/new-token': 'creates a personal access token (`personalAccessTokens`)',
  '/approvals':
    'calls that wait for the user’s decision, where a rule demands [approvals](policy.md#approvals)',
  '/approvals/*': 'one of them: its user waits, its approver decides',
  '/account': 'the user’s account: password, passkeys, second factor, sessions',
  '/account/remove': 'deletes the account',
  '/setup': 'creates the first account, by the link of the startup output',
  '/invitation': 'sets the password of a new account, by the link of `users add`',
  '/reset': 'sets another password, by the link of `users reset`',
  '/notice': '“this was not me”, by the link of a mail (`mail`)',
  '/logout': 'signs out',
  '/language': 'chooses the language',
  '/assets/*': 'style sheet, script, logo, icon',
  '/logos/*': 'logos of clients, fetched by this server',
};

/** Of `portcullis up`, beside the authorization server. */
const PROGRAM: readonly (readonly string[])[] = [
  ['GET', '`/`', 'lists the protected servers'],
  ['GET', '`/healthz`', '200 while the process is alive'],
  ['GET', '`/readyz`', '200 while the database can be read and written, 503 otherwise and while stopping'],
  ['GET', '`/metrics`', '[metrics.md](metrics.md)'],
  ['GET POST DELETE', '`/mcp`, or the path of each server', 'the protected servers, through the guard'],
  ['GET', '`/.well-known/oauth-protected-resource/<path>`', 'metadata of a protected resource (RFC 9728)'],
];

interface ServedRoute {
  readonly method: string;
  readonly path: string;
  readonly crossOrigin: boolean;
}

/** The routes of a server with everything switched on. */
async function findRoutes(): Promise<ReadonlyMap<string, readonly ServedRoute[]>> {
  const paths = new Map<string, ServedRoute[]>();
  const store = await openStore(':memory:');
  const server = await createAuthorizationServer({
    issuer: 'https://auth.example.com',
    masterKey: new Uint8Array(32),
    store,
    resources: [{ resource: 'https://mcp.example.com/mcp', name: 'Notes', scopes: { notes: 'Read notes' } }],
    identityProviders: [
      {
        id: 'company',
        name: 'Company',
        kind: { issuer: 'https://sso.example.com' },
        clientId: 'portcullis',
        clientSecret: 'secret',
        scopes: ['openid'],
        backChannelLogout: 'sessions',
        sharedSignals: { audience: ['https://auth.example.com'] },
        scim: {},
      },
    ],
    deviceAuthorization: true,
    personalAccessTokens: true,
    approvals: true,
    sendsMail: true,
    signInLinks: true,
  });
  for (const { method, path } of server.routes) {
    const crossOrigin = await isCrossOrigin(server, method, path);
    paths.set(path, [...(paths.get(path) ?? []), { method, path, crossOrigin }]);
  }
  await server.close();
  await store.close();
  return paths;
}

/** Whether a script of another origin gets the permission of a preflight. */
async function isCrossOrigin(server: AuthorizationServer, method: string, path: string): Promise<boolean> {
  const headers = { origin: 'https://app.example', 'access-control-request-method': method };
  const request = new Request(`https://auth.example.com${path}`, { method: 'OPTIONS', headers });
  return (await server.handle(request)).headers.has('access-control-allow-origin');
}

/** A page below one that is described needs no words of its own. */
function isDescribed(path: string): boolean {
  return path in PROTOCOL || Object.keys(PAGES).some((page) => path === page || path.startsWith(`${page}/`));
}

function describe({ purpose, standard, setting }: Endpoint): string {
  const switched = setting === undefined ? '' : `, where \`${setting}\` is on`;
  return `${purpose}${switched}${standard === undefined ? '' : ` (${standard})`}`;
}

/** The whole page, in Markdown. */
export async function httpApiPage(): Promise<string> {
  const routes = await findRoutes();
  const unknown = [...routes.keys()].filter((path) => !isDescribed(path));
  const gone = [...Object.keys(PROTOCOL), ...Object.keys(PAGES)].filter((path) => !routes.has(path));
  if (unknown.length + gone.length > 0)
    throw new Error(
      `scripts/documents/http-api.ts: missing ${unknown.join(', ')}; unknown ${gone.join(', ')}`,
    );
  const methods = (path: string) => (routes.get(path) ?? []).map(({ method }) => method).join(' ');
  const protocol = Object.entries(PROTOCOL).map(([path, endpoint]) => [
    `${methods(path)} \`${path}\``,
    describe(endpoint),
    endpoint.takes ?? '',
    endpoint.answers,
  ]);
  const sameOrigin = Object.keys(PROTOCOL).filter(
    (path) => !routes.get(path)?.some(({ crossOrigin }) => crossOrigin),
  );
  const pages = Object.entries(PAGES).map(([path, purpose]) => [methods(path), `\`${path}\``, purpose]);
  return `# HTTP API

Every route of the authorization server and of \`portcullis up\`. This page is generated from the routes (\`npm run documents\`). Clients should not build these URLs: they are in the metadata.

\`\`\`sh
curl https://auth.example.com/.well-known/oauth-authorization-server
\`\`\`

Requests are forms (\`application/x-www-form-urlencoded\`) and responses JSON, unless the table says otherwise. Errors: [errors.md](errors.md).

**Client authentication** is one of \`none\` (\`client_id\` alone), \`client_secret_basic\`, \`client_secret_post\` and \`private_key_jwt\`, as registered.

## Endpoints for programs

Scripts of any origin may call them without cookies (CORS), except ${sameOrigin.map((path) => `\`${path}\``).join(', ')}. HEAD follows GET, and a method that a path does not support gets 405 with \`Allow\`.

${table(['endpoint', 'purpose', 'takes', 'answers'], protocol)}

## Pages

For browsers. Each form carries a CSRF token, so programs cannot use them.

${table(['methods', 'path', 'purpose'], pages)}

## Paths of the program

${table(['methods', 'path', 'purpose'], PROGRAM)}
`;
}

function authorizationParameters(): string {
  const named = [...REQUIRED, 'request', 'request_uri'];
  const optional = AUTHORIZATION_PARAMETERS.filter((name) => !named.includes(name));
  return [...REQUIRED, ...optional.map((name) => `${name}?`)].map((name) => `\`${name}\``).join(', ');
}
