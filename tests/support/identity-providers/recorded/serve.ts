/** Serves the recorded responses of one provider, and records the requests that it receives. */
import { randomBytes } from 'node:crypto';
import { getRequestListener } from '@hono/node-server';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type IdentityProvider, listen, portcullisClient } from '../identity-provider.ts';
import type { Members, RecordedProvider, RecordedResponse } from './recorded-provider.ts';

type Endpoint = 'token' | 'refresh' | 'introspection' | 'userinfo' | 'revocation';

interface ReceivedRequest {
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly path: string;
  readonly authorization: string | null;
  /** Parameters of the form, or members of the JSON body. */
  readonly parameters: Members;
}

export interface RecordedIdentityProvider extends IdentityProvider {
  /** The response of an endpoint from now on; `null`: the recorded one again. */
  respond(endpoint: Endpoint, response: RecordedResponse | null): void;
  /** The user of its responses from now on. */
  subject: string | number;
  /** Whether users decline from now on. */
  declines: boolean;
  /** Requests since the start, except those of browsers and for metadata. */
  readonly requests: readonly ReceivedRequest[];
  /** The tokens that it issued last. */
  accessToken: string | null;
  refreshToken: string | null;
}

/** One key for all of them: it takes longer to make than everything else. */
const signing = generateKeyPair('RS256', { extractable: true });

const MEMBERS: Readonly<Record<string, Endpoint | 'authorize' | 'jwks'>> = {
  authorization_endpoint: 'authorize',
  token_endpoint: 'token',
  jwks_uri: 'jwks',
  userinfo_endpoint: 'userinfo',
  introspection_endpoint: 'introspection',
  revocation_endpoint: 'revocation',
};

/** The endpoint at a path; those of GitHub for tokens are below the one in its metadata. */
function endpointAt({ metadata }: RecordedProvider, path: string): (typeof MEMBERS)[string] | undefined {
  const found = Object.entries(MEMBERS).find(([member, endpoint]) => {
    const url = metadata.body[member];
    if (typeof url !== 'string') return false;
    const own = url.replace('$origin', '');
    return path === own || (endpoint === 'revocation' && path.startsWith(`${own}/`));
  });
  return found?.[1];
}

export async function startRecorded(recorded: RecordedProvider): Promise<RecordedIdentityProvider> {
  const responses = new Map<Endpoint, RecordedResponse>();
  const redirects = new Set<string>();
  const requests: ReceivedRequest[] = [];
  const state = {
    origin: '',
    issuer: '',
    nonce: null as string | null,
    subject: recorded.subjects[0],
    declines: false,
    accessToken: null as string | null,
    refreshToken: null as string | null,
  };

  function authorize({ searchParams }: URL): Response {
    const redirectUri = searchParams.get('redirect_uri') ?? '';
    if (searchParams.get('client_id') !== portcullisClient.id || !redirects.has(redirectUri)) {
      return new Response('This client or its redirect URI is not known here.', { status: 400 });
    }
    state.nonce = searchParams.get('nonce');
    const target = new URL(redirectUri);
    const parameters = state.declines ? recorded.denied.body : { code: newToken() };
    for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, String(value));
    target.searchParams.set('state', searchParams.get('state') ?? '');
    if (recorded.metadata.body['authorization_response_iss_parameter_supported'] === true) {
      target.searchParams.set('iss', state.issuer);
    }
    return new Response(null, { status: 302, headers: { location: target.href } });
  }

  async function idToken(): Promise<string> {
    const { privateKey } = await signing;
    const now = Math.floor(Date.now() / 1000);
    const nonce = state.nonce === null ? {} : { nonce: state.nonce };
    const claims = { ...((await fill(recorded.idToken?.claims)) as Members), ...nonce };
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setIssuer(state.issuer)
      .setSubject(String(state.subject))
      .setAudience(portcullisClient.id)
      .setIssuedAt(now)
      .setExpirationTime(now + 3600)
      .sign(privateKey);
  }

  function issue(kind: 'accessToken' | 'refreshToken'): string {
    const token = newToken();
    state[kind] = token;
    return token;
  }

  /** A recorded value with the tokens, the user and the origin of now. */
  async function fill(value: unknown): Promise<unknown> {
    if (value === '$accessToken') return issue('accessToken');
    if (value === '$refreshToken') return issue('refreshToken');
    if (value === '$idToken') return idToken();
    if (value === '$subject') return state.subject;
    if (typeof value === 'string') return value.replace('$origin', state.origin);
    if (Array.isArray(value)) return Promise.all(value.map(fill));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(async ([name, member]) => [name, await fill(member)]);
    return Object.fromEntries(await Promise.all(entries));
  }

  async function send({ status = 200, headers = {}, body }: RecordedResponse): Promise<Response> {
    if (body === null) return new Response(null, { status, headers });
    return Response.json(await fill(body), { status, headers });
  }

  async function handle(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname.endsWith('/.well-known/openid-configuration')) return send(recorded.metadata);
    const found = endpointAt(recorded, url.pathname);
    if (found === 'authorize') return authorize(url);
    if (found === 'jwks') return Response.json({ keys: [{ ...(await publicKey()), kid: 'one' }] });
    if (found === undefined) return new Response(null, { status: 404 });
    const parameters = await readParameters(request);
    const endpoint = parameters['grant_type'] === 'refresh_token' ? 'refresh' : found;
    const authorization = request.headers.get('authorization');
    requests.push({ endpoint, method: request.method, path: url.pathname, authorization, parameters });
    const response = responses.get(endpoint) ?? recordedResponseOf(recorded, endpoint);
    return response ? send(response) : new Response(null, { status: 404 });
  }

  const listening = await listen((origin) => {
    state.origin = origin;
    state.issuer = String(recorded.metadata.body['issuer'] ?? origin).replace('$origin', origin);
    return getRequestListener(handle);
  });
  return Object.assign(state, {
    ...listening,
    client: portcullisClient,
    typed: [],
    requests,
    registerRedirectUri: (uri: string) => void redirects.add(uri),
    renewals: () => requests.filter(({ endpoint }) => endpoint === 'refresh').length,
    respond(endpoint: Endpoint, response: RecordedResponse | null) {
      if (response === null) responses.delete(endpoint);
      else responses.set(endpoint, response);
    },
  });
}

function recordedResponseOf(
  { token, refresh, introspection, userinfo, revocation }: RecordedProvider,
  endpoint: Endpoint,
): RecordedResponse | null | undefined {
  const responses = {
    ...{ token, refresh, revocation },
    introspection: introspection?.active,
    userinfo: userinfo?.user,
  };
  return responses[endpoint];
}

function newToken(): string {
  return randomBytes(24).toString('base64url');
}

async function publicKey(): Promise<object> {
  return { ...(await exportJWK((await signing).publicKey)), alg: 'RS256', use: 'sig' };
}

async function readParameters(request: Request): Promise<Members> {
  const text = await request.text();
  if (request.headers.get('content-type')?.includes('json') === true) return JSON.parse(text) as Members;
  return Object.fromEntries(new URLSearchParams(text));
}
