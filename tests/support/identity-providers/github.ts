/** A plain OAuth provider that behaves as GitHub does for OAuth apps: no ID token, no refresh, and quirks in most responses. */
import { createHash, randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { type IdentityProvider, listen, portcullisClient, signInPage } from './identity-provider.ts';

export interface GithubIdentityProvider extends IdentityProvider {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  /** Its API: `/user`, `/user/emails`, `/user/repos`, and the management of tokens. */
  readonly api: string;
  /** Accounts by login. Signing in with another name creates one. */
  readonly users: Map<string, GithubUser>;
  /** Scopes that it grants whatever is requested: organizations limit them. `null`: those requested. */
  grants: readonly string[] | null;
  /** Delay of `/user` responses in milliseconds. */
  delay: number;
  /** Unless `null`, its API answers every request with this status. */
  outage: number | null;
  /** Revokes everything that a user allowed. */
  revokeAll(): void;
  /** Whether it still accepts a token that it issued. */
  isLive(token: string): boolean;
}

interface GithubUser {
  /** Never changes, and is a number. */
  readonly id: number;
  readonly login: string;
  /** `null` unless the user made it public. */
  readonly email: string | null;
  readonly name: string | null;
}

interface Allowed {
  readonly user: string;
  readonly scopes: readonly string[];
}

interface Pending extends Allowed {
  readonly redirectUri: string;
  readonly challenge: string | null;
}

/** The state of one server. */
interface State {
  readonly users: Map<string, GithubUser>;
  readonly redirects: Set<string>;
  readonly codes: Map<string, Pending>;
  readonly tokens: Map<string, Allowed>;
  readonly typed: string[];
  grants: readonly string[] | null;
  delay: number;
  outage: number | null;
}

type Handler = (request: Request, url: URL, state: State) => Promise<Response> | Response;

const AUTHORIZE = '/login/oauth/authorize';
const TOKEN = '/login/oauth/access_token';
const SESSION = 'user_session';

/** One origin stands for `github.com` and `api.github.com`. */
const routes: Readonly<Record<string, Handler>> = {
  [`GET ${AUTHORIZE}`]: authorize,
  [`POST ${AUTHORIZE}`]: answerPage,
  [`POST ${TOKEN}`]: redeem,
  'GET /user': (request, _url, state) =>
    withToken(request, state, ({ user }) => Response.json(userOf(state, user))),
  'GET /user/emails': (request, _url, state) =>
    withToken(request, state, (allowed) => emails(state, allowed)),
  'GET /user/repos': (request, _url, state) => withToken(request, state, repositories),
  [`POST /applications/${portcullisClient.id}/token`]: checkToken,
  [`DELETE /applications/${portcullisClient.id}/token`]: deleteToken,
  [`DELETE /applications/${portcullisClient.id}/grant`]: deleteGrant,
};

export async function startGithub(): Promise<GithubIdentityProvider> {
  const state: State = {
    users: new Map(),
    redirects: new Set(),
    codes: new Map(),
    tokens: new Map(),
    typed: [],
    grants: null,
    delay: 0,
    outage: null,
  };
  const listening = await listen(() => serve(state));
  return Object.assign(state, {
    ...listening,
    client: portcullisClient,
    authorizationEndpoint: `${listening.origin}${AUTHORIZE}`,
    tokenEndpoint: `${listening.origin}${TOKEN}`,
    api: listening.origin,
    registerRedirectUri: (uri: string) => void state.redirects.add(uri),
    renewals: () => 0,
    revokeAll: () => state.tokens.clear(),
    isLive: (token: string) => state.tokens.has(token),
  });
}

function serve(state: State): RequestListener {
  return getRequestListener(async (request) => {
    const url = new URL(request.url);
    const handler = routes[`${request.method} ${url.pathname}`];
    if (handler === undefined) return refuse(404, 'Not Found');
    if (state.outage !== null && url.pathname !== AUTHORIZE) return refuse(state.outage, 'Unicorn!');
    // Every API request must have a User-Agent.
    if (!url.pathname.startsWith('/login/') && request.headers.get('user-agent') === null) {
      return refuse(403, 'Request forbidden by administrative rules. Send a User-Agent header.');
    }
    return handler(request, url, state);
  });
}

function refuse(status: number, message: string): Response {
  return Response.json(
    { message, documentation_url: 'https://docs.example/rest', status: String(status) },
    { status },
  );
}

/** Asks the user, unless they are signed in and have allowed the same before. */
function authorize(request: Request, { searchParams, search }: URL, state: State): Response {
  if (searchParams.get('client_id') !== portcullisClient.id) return refuse(404, 'Not Found');
  const user = /user_session=(\w+)/.exec(request.headers.get('cookie') ?? '')?.[1];
  if (user === undefined) return page(`${AUTHORIZE}${search}`);
  return leave(searchParams, state, user);
}

function page(action: string): Response {
  return new Response(signInPage('Octo identity provider', action), {
    headers: { 'content-type': 'text/html; charset=utf-8' },
  });
}

async function answerPage(request: Request, { searchParams }: URL, state: State): Promise<Response> {
  const form = new URLSearchParams(await request.text());
  state.typed.push(...form.values());
  const user = form.get('login') ?? '';
  const response = leave(searchParams, state, form.get('answer') === 'allow' ? user : null);
  response.headers.append('set-cookie', `${SESSION}=${user}; HttpOnly; SameSite=Lax; Path=/`);
  return response;
}

/** Redirects to the client with a code or an error. An unregistered redirect URI is reported to the registered one. */
function leave(asked: URLSearchParams, state: State, user: string | null): Response {
  const [registered = ''] = state.redirects;
  const redirectUri = asked.get('redirect_uri') ?? registered;
  const known = state.redirects.has(redirectUri);
  const target = new URL(known ? redirectUri : registered);
  const answer = known ? decide(asked, state, user, redirectUri) : mismatch();
  for (const [name, value] of Object.entries(answer)) target.searchParams.set(name, value);
  const remembered = asked.get('state');
  if (remembered !== null) target.searchParams.set('state', remembered);
  return new Response(null, { status: 302, headers: { location: target.href } });
}

function decide(
  asked: URLSearchParams,
  state: State,
  user: string | null,
  redirectUri: string,
): Readonly<Record<string, string>> {
  if (user === null) {
    return {
      error: 'access_denied',
      error_description: 'The user has denied your application access.',
      error_uri: 'https://docs.example/troubleshooting#access-denied',
    };
  }
  const code = randomBytes(10).toString('hex');
  const scopes = state.grants ?? (asked.get('scope') ?? '').split(/[ ,]+/).filter((scope) => scope !== '');
  state.codes.set(code, { user, scopes, redirectUri, challenge: asked.get('code_challenge') });
  return { code };
}

function mismatch(): Readonly<Record<string, string>> {
  return {
    error: 'redirect_uri_mismatch',
    error_description: 'The redirect_uri MUST match the registered callback URL for this application.',
  };
}

/** Errors have status 200, and responses are form-encoded unless JSON is requested. */
async function redeem(request: Request, _url: URL, state: State): Promise<Response> {
  const form = new URLSearchParams(await request.text());
  const answer = checkTokenRequest(form, request, state);
  if (request.headers.get('accept')?.includes('json') === true) return Response.json(answer);
  return new Response(new URLSearchParams(answer).toString(), {
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
  });
}

function checkTokenRequest(form: URLSearchParams, request: Request, state: State): Record<string, string> {
  const [basicId, basicSecret] = basic(request);
  const id = form.get('client_id') ?? basicId;
  const secret = form.get('client_secret') ?? basicSecret;
  if (id !== portcullisClient.id || secret !== portcullisClient.secret) {
    return { error: 'incorrect_client_credentials', error_description: 'They are incorrect.' };
  }
  const code = form.get('code') ?? '';
  const pending = state.codes.get(code);
  state.codes.delete(code);
  if (pending === undefined || !proves(form.get('code_verifier'), pending.challenge)) {
    return {
      error: 'bad_verification_code',
      error_description: 'The code passed is incorrect or expired.',
      error_uri: 'https://docs.example/troubleshooting#bad-verification-code',
    };
  }
  const sent = form.get('redirect_uri');
  if (sent !== null && sent !== pending.redirectUri) return { ...mismatch() };
  const token = `gho_${randomBytes(18).toString('hex')}`;
  state.tokens.set(token, pending);
  return { access_token: token, token_type: 'bearer', scope: pending.scopes.join(',') };
}

function proves(verifier: string | null, challenge: string | null): boolean {
  if (challenge === null) return verifier === null;
  return (
    createHash('sha256')
      .update(verifier ?? '')
      .digest('base64url') === challenge
  );
}

function basic(request: Request): readonly string[] {
  const [, encoded = ''] = /^Basic (\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  return Buffer.from(encoded, 'base64')
    .toString()
    .split(':')
    .map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
}

async function withToken(
  request: Request,
  state: State,
  answer: (allowed: Allowed) => Response,
): Promise<Response> {
  if (state.delay > 0) await new Promise((resolve) => setTimeout(resolve, state.delay));
  const [, token = ''] = /^(?:bearer|token) (\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  const allowed = state.tokens.get(token);
  if (allowed === undefined) return refuse(401, 'Bad credentials');
  const response = answer(allowed);
  response.headers.set('x-oauth-scopes', allowed.scopes.join(', '));
  return response;
}

/** Created on first use: numbers from 583231 on. */
function userOf({ users }: State, login: string): GithubUser {
  const known = users.get(login);
  if (known !== undefined) return known;
  const user = { id: 583231 + users.size, login, email: null, name: `${login} the user` };
  users.set(login, user);
  return user;
}

function emails(state: State, { user, scopes }: Allowed): Response {
  if (!scopes.includes('user:email') && !scopes.includes('user')) return refuse(404, 'Not Found');
  const { login, email } = userOf(state, user);
  return Response.json([
    { email: `${login}@users.noreply.third.example`, primary: false, verified: true, visibility: null },
    { email: email ?? `${login}@third.example`, primary: true, verified: true, visibility: 'private' },
  ]);
}

function repositories({ user, scopes }: Allowed): Response {
  if (!scopes.includes('repo')) return refuse(403, 'Resource not accessible by this token.');
  return Response.json([
    { id: 1, full_name: `${user}/compiler`, private: true },
    { id: 2, full_name: `${user}/letters`, private: true },
  ]);
}

/** Whether a request for the management of tokens comes from the client itself; its JSON body names the token. */
async function managed(request: Request): Promise<string | Response> {
  const [id, secret] = basic(request);
  if (id !== portcullisClient.id || secret !== portcullisClient.secret) return refuse(404, 'Not Found');
  const body = (await request.json().catch(() => ({}))) as { readonly access_token?: unknown };
  return typeof body.access_token === 'string' ? body.access_token : refuse(422, 'Validation Failed');
}

async function checkToken(request: Request, _url: URL, state: State): Promise<Response> {
  const token = await managed(request);
  if (token instanceof Response) return token;
  const allowed = state.tokens.get(token);
  if (allowed === undefined) return refuse(404, 'Not Found');
  return Response.json({ token, scopes: allowed.scopes, user: userOf(state, allowed.user) });
}

async function deleteToken(request: Request, _url: URL, state: State): Promise<Response> {
  const token = await managed(request);
  if (token instanceof Response) return token;
  return state.tokens.delete(token) ? new Response(null, { status: 204 }) : refuse(404, 'Not Found');
}

/** Revokes every token of this user for this client. */
async function deleteGrant(request: Request, _url: URL, state: State): Promise<Response> {
  const token = await managed(request);
  if (token instanceof Response) return token;
  const allowed = state.tokens.get(token);
  if (allowed === undefined) return refuse(404, 'Not Found');
  for (const [other, { user }] of state.tokens) if (user === allowed.user) state.tokens.delete(other);
  return new Response(null, { status: 204 });
}
