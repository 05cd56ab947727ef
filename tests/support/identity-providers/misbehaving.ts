/** An OpenID Connect provider that behaves until told otherwise: slow, broken, lying or hostile, endpoint by endpoint. */
import { createHash, randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { getRequestListener, RequestError } from '@hono/node-server';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { type IdentityProvider, listen, portcullisClient, signInPage } from './identity-provider.ts';

type Endpoint =
  | 'discovery'
  | 'authorize'
  | 'token'
  | 'refresh'
  | 'jwks'
  | 'userinfo'
  | 'introspection'
  | 'revocation'
  | 'files';

/** How an endpoint misbehaves. */
type Issue =
  | { readonly kind: 'slow'; readonly milliseconds: number }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: number | string }
  /** An OAuth error. */
  | {
      readonly kind: 'error';
      readonly error: string;
      readonly description?: string;
      readonly status?: number;
    }
  | { readonly kind: 'redirect'; readonly to: string }
  /** A JSON response of so many bytes. */
  | { readonly kind: 'huge'; readonly bytes: number }
  | { readonly kind: 'text'; readonly body: string; readonly type?: string }
  /** The connection is cut before a response. */
  | { readonly kind: 'cut' }
  /** 101 Switching Protocols, which was not requested. */
  | { readonly kind: 'switch' }
  /** Members of the response are replaced; `undefined` omits one. */
  | { readonly kind: 'members'; readonly members: Readonly<Record<string, unknown>> };

/** Its false statements. */
export interface Lies {
  /** Replaces parameters of the authorization response; `null` omits one. */
  response?: Readonly<Record<string, string | null>>;
  /** Replaces claims of ID tokens; `undefined` omits one. */
  claims?: Readonly<Record<string, unknown>>;
  /** Signs ID tokens in another way. */
  signature?: 'none' | 'HS256' | 'unknown key' | 'withdrawn key' | 'broken';
  /** Renews ID tokens at each refresh, of this user in place of the own one. */
  renewed?: string;
  /** Issues this code to every user. */
  code?: string;
}

export interface MisbehavingIdentityProvider extends IdentityProvider {
  /** How an endpoint responds from now on; `null`: correctly again. */
  at(endpoint: Endpoint, issue: Issue | null): void;
  lies: Lies;
  /** Lifetime of access tokens from now on, in seconds; initially 3600. */
  tokenLifetime: number;
  /** Whether refresh tokens rotate; initially they do. */
  rotates: boolean;
  revokeAll(): void;
  isLive(token: string): boolean;
}

interface Pending {
  readonly subject: string;
  readonly nonce: string | null;
  readonly scope: string;
  readonly challenge: string;
  readonly redirectUri: string;
}

interface Session {
  readonly subject: string;
  readonly scope: string;
  access: string;
  refresh: string;
  /** Epoch milliseconds. */
  expiresAt: number;
}

interface State {
  readonly origin: string;
  readonly issues: Map<Endpoint, Issue>;
  readonly redirects: Set<string>;
  readonly codes: Map<string, Pending>;
  readonly sessions: Set<Session>;
  readonly typed: string[];
  readonly keys: Keys;
  readonly knobs: { lies: Lies; tokenLifetime: number; rotates: boolean };
}

interface Keys {
  readonly own: { readonly privateKey: CryptoKey; readonly jwk: JWK };
  /** Never published. */
  readonly foreign: { readonly privateKey: CryptoKey };
}

const PATHS: Readonly<Record<string, Endpoint>> = {
  '/.well-known/openid-configuration': 'discovery',
  '/authorize': 'authorize',
  '/token': 'token',
  '/jwks': 'jwks',
  '/userinfo': 'userinfo',
  '/introspect': 'introspection',
  '/revoke': 'revocation',
  '/files': 'files',
};

type Handler = (request: Request, url: URL, state: State) => Promise<Response> | Response;

const handlers: Readonly<Record<Endpoint, Handler>> = {
  discovery: (_request, _url, { origin }) => Response.json(describe(origin)),
  authorize,
  token: redeem,
  refresh: renew,
  jwks: (_request, _url, { keys }) => Response.json({ keys: [keys.own.jwk] }),
  userinfo: (request, _url, state) =>
    withSession(request, state, ({ subject }) => Response.json({ sub: subject, ...user(subject) })),
  introspection: introspect,
  revocation: revoke,
  files: (request, _url, state) =>
    withSession(request, state, ({ subject }) => Response.json({ owner: subject, files: ['letter.txt'] })),
};

export async function startMisbehaving(): Promise<MisbehavingIdentityProvider> {
  const knobs = { lies: {} as Lies, tokenLifetime: 3600, rotates: true };
  const counters = { renewals: 0 };
  const keys = await makeKeys();
  const parts = {
    issues: new Map<Endpoint, Issue>(),
    redirects: new Set<string>(),
    codes: new Map<string, Pending>(),
    sessions: new Set<Session>(),
    typed: [] as string[],
    keys,
    knobs,
  };
  const listening = await listen((origin) => serve({ ...parts, origin }, () => (counters.renewals += 1)));
  return Object.assign(knobs, {
    ...listening,
    client: portcullisClient,
    typed: parts.typed,
    registerRedirectUri: (uri: string) => void parts.redirects.add(uri),
    renewals: () => counters.renewals,
    at(endpoint: Endpoint, issue: Issue | null) {
      if (issue === null) parts.issues.delete(endpoint);
      else parts.issues.set(endpoint, issue);
    },
    revokeAll: () => parts.sessions.clear(),
    isLive: (token: string) =>
      [...parts.sessions].some(({ access, refresh }) => token === access || token === refresh),
  });
}

async function makeKeys(): Promise<Keys> {
  const own = await generateKeyPair('ES256', { extractable: true });
  const foreign = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
  return { own: { privateKey: own.privateKey, jwk }, foreign: { privateKey: foreign.privateKey } };
}

function serve(state: State, noteRenewal: () => void): RequestListener {
  return getRequestListener(
    async (
      request,
      { incoming }: { incoming: { socket: { destroy(): void; write(text: string): void } } },
    ) => {
      const url = new URL(request.url);
      const path = PATHS[url.pathname];
      if (path === undefined) return new Response(null, { status: 404 });
      const endpoint = path === 'token' && (await isRenewal(request)) ? 'refresh' : path;
      if (endpoint === 'refresh') noteRenewal();
      const issue = state.issues.get(endpoint);
      if (issue?.kind === 'cut') incoming.socket.destroy();
      if (issue?.kind === 'switch') incoming.socket.write(SWITCHING);
      const response = issue === undefined ? null : await misbehave(issue);
      if (response !== null) return response;
      return changed(await handlers[endpoint](request, url, state), issue);
    },
    { errorHandler: (error) => new Response(null, { status: error instanceof RequestError ? 400 : 500 }) },
  );
}

const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n';

async function isRenewal(request: Request): Promise<boolean> {
  return new URLSearchParams(await request.clone().text()).get('grant_type') === 'refresh_token';
}

/** The misbehaving response; `null`: the correct one follows. */
async function misbehave(issue: Issue): Promise<Response | null> {
  switch (issue.kind) {
    case 'slow':
      await new Promise((resolve) => setTimeout(resolve, issue.milliseconds));
      return null;
    case 'status':
      return new Response('Not now.', {
        status: issue.status,
        headers: issue.retryAfter === undefined ? {} : { 'retry-after': String(issue.retryAfter) },
      });
    case 'error': {
      const { error, description, status = 400 } = issue;
      return Response.json({ error, error_description: description }, { status });
    }
    case 'redirect':
      return new Response(null, { status: 307, headers: { location: issue.to } });
    case 'huge':
      return new Response(`{"filling":"${'x'.repeat(issue.bytes)}"}`, {
        headers: { 'content-type': 'application/json' },
      });
    case 'text':
      return new Response(issue.body, { headers: { 'content-type': issue.type ?? 'application/json' } });
    case 'cut':
    case 'switch':
      return new Response(null, { status: 500 });
    case 'members':
      return null;
  }
}

async function changed(response: Response, issue: Issue | undefined): Promise<Response> {
  if (issue?.kind !== 'members' || !response.ok) return response;
  const document = (await response.json()) as object;
  return Response.json({ ...document, ...issue.members }, { status: response.status });
}

function describe(origin: string): object {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    jwks_uri: `${origin}/jwks`,
    userinfo_endpoint: `${origin}/userinfo`,
    introspection_endpoint: `${origin}/introspect`,
    revocation_endpoint: `${origin}/revoke`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    code_challenge_methods_supported: ['S256'],
    scopes_supported: ['openid', 'email', 'files:read', 'files:write'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    authorization_response_iss_parameter_supported: true,
  };
}

async function authorize(request: Request, { searchParams, search }: URL, state: State): Promise<Response> {
  if (request.method !== 'POST') {
    return new Response(signInPage('Odd identity provider', `/authorize${search}`), {
      headers: { 'content-type': 'text/html; charset=utf-8' },
    });
  }
  const form = new URLSearchParams(await request.text());
  state.typed.push(...form.values());
  const redirectUri = searchParams.get('redirect_uri') ?? '';
  if (searchParams.get('client_id') !== portcullisClient.id || !state.redirects.has(redirectUri)) {
    return new Response('This client or its redirect URI is not known here.', { status: 400 });
  }
  const allowed = form.get('answer') === 'allow';
  const code = state.knobs.lies.code ?? randomBytes(16).toString('hex');
  const subject = form.get('login') ?? '';
  const scope = searchParams.get('scope') ?? '';
  const nonce = searchParams.get('nonce');
  const challenge = searchParams.get('code_challenge') ?? '';
  if (allowed) state.codes.set(code, { subject, nonce, scope, challenge, redirectUri });
  const answer: Record<string, string | null> = {
    ...(allowed ? { code } : { error: 'access_denied' }),
    state: searchParams.get('state'),
    iss: state.origin,
    ...state.knobs.lies.response,
  };
  const target = new URL(redirectUri);
  for (const [name, value] of Object.entries(answer)) {
    if (value !== null) target.searchParams.set(name, value);
  }
  return new Response(null, { status: 302, headers: { location: target.href } });
}

function isClient(request: Request, form: URLSearchParams): boolean {
  const [, encoded = ''] = /^Basic (\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  const [id = form.get('client_id'), secret = form.get('client_secret')] = Buffer.from(encoded, 'base64')
    .toString()
    .split(':')
    .filter((part) => part !== '')
    .map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
  return id === portcullisClient.id && secret === portcullisClient.secret;
}

async function redeem(request: Request, _url: URL, state: State): Promise<Response> {
  const form = new URLSearchParams(await request.text());
  if (!isClient(request, form)) return refuse('invalid_client', 401);
  const code = form.get('code') ?? '';
  const pending = state.codes.get(code);
  // The same code for every user is not consumed.
  if (code !== state.knobs.lies.code) state.codes.delete(code);
  const derived = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  if (pending === undefined || (derived !== pending.challenge && code !== state.knobs.lies.code)) {
    return refuse('invalid_grant');
  }
  if (form.get('redirect_uri') !== pending.redirectUri) return refuse('invalid_grant');
  const session = give(state, { subject: pending.subject, scope: pending.scope });
  return Response.json({ ...answerOf(session, state), id_token: await idToken(pending, state) });
}

function give(state: State, of: Pick<Session, 'subject' | 'scope'>): Session {
  const session = { ...of, access: newToken(), refresh: newToken(), expiresAt: 0 };
  session.expiresAt = Date.now() + state.knobs.tokenLifetime * 1000;
  state.sessions.add(session);
  return session;
}

function newToken(): string {
  return randomBytes(24).toString('base64url');
}

function answerOf({ access, refresh, scope }: Session, { knobs }: State): object {
  return {
    access_token: access,
    token_type: 'Bearer',
    expires_in: knobs.tokenLifetime,
    refresh_token: refresh,
    scope,
  };
}

async function renew(request: Request, _url: URL, state: State): Promise<Response> {
  const form = new URLSearchParams(await request.text());
  if (!isClient(request, form)) return refuse('invalid_client', 401);
  const session = [...state.sessions].find(({ refresh }) => refresh === form.get('refresh_token'));
  if (session === undefined) return refuse('invalid_grant');
  session.access = newToken();
  if (state.knobs.rotates) session.refresh = newToken();
  session.expiresAt = Date.now() + state.knobs.tokenLifetime * 1000;
  const { renewed } = state.knobs.lies;
  if (renewed === undefined) return Response.json(answerOf(session, state));
  const id_token = await idToken({ subject: renewed, nonce: null }, state);
  return Response.json({ ...answerOf(session, state), id_token });
}

function refuse(error: string, status = 400): Response {
  return Response.json({ error }, { status });
}

async function idToken(
  { subject, nonce }: Pick<Pending, 'subject' | 'nonce'>,
  { origin, keys, knobs }: State,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const all = {
    iss: origin,
    sub: subject,
    aud: portcullisClient.id,
    iat: now,
    exp: now + 300,
    ...(nonce !== null && { nonce }),
    ...user(subject),
    ...knobs.lies.claims,
  };
  const claims = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  switch (knobs.lies.signature) {
    case 'none':
      return `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`;
    case 'HS256': {
      const secret = new TextEncoder().encode(portcullisClient.secret);
      return new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret);
    }
    case 'unknown key':
      return sign(claims, 'one', keys.foreign.privateKey);
    case 'withdrawn key':
      return sign(claims, 'two', keys.foreign.privateKey);
    case 'broken':
      return `${await sign(claims, 'one', keys.own.privateKey)}AAAA`;
    default:
      return sign(claims, 'one', keys.own.privateKey);
  }
}

function sign(claims: object, kid: string, key: CryptoKey): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ alg: 'ES256', kid }).sign(key);
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function user(subject: string): object {
  return { name: subject, email: `${subject}@third.example`, email_verified: true };
}

function withSession(request: Request, state: State, answer: (session: Session) => Response): Response {
  const [, token = ''] = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  const session = [...state.sessions].find(({ access }) => access === token);
  if (session === undefined || session.expiresAt <= Date.now()) return refuse('invalid_token', 401);
  return answer(session);
}

async function introspect(request: Request, _url: URL, state: State): Promise<Response> {
  const form = new URLSearchParams(await request.text());
  if (!isClient(request, form)) return refuse('invalid_client', 401);
  const token = form.get('token');
  const session = [...state.sessions].find(({ access, refresh }) => token === access || token === refresh);
  if (session === undefined) return Response.json({ active: false });
  if (token === session.access && session.expiresAt <= Date.now()) return Response.json({ active: false });
  return Response.json({ active: true, sub: session.subject, scope: session.scope });
}

async function revoke(request: Request, _url: URL, state: State): Promise<Response> {
  const form = new URLSearchParams(await request.text());
  if (!isClient(request, form)) return refuse('invalid_client', 401);
  const token = form.get('token');
  for (const session of state.sessions) {
    if (token === session.access || token === session.refresh) state.sessions.delete(session);
  }
  return new Response(null);
}
