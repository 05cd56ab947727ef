/** A browser whose user has signed in and consented already: each visit to the authorization endpoint yields a code. */
import { createHash, randomBytes } from 'node:crypto';
import { createUser } from '../support/user.ts';
import { type Answer, type ServerProcess, send } from './servers.ts';
import { ACCOUNT, CALLBACK, credentialsOf, ISSUER, NOTES } from './world.ts';

export interface Code {
  readonly code: string;
  readonly verifier: string;
}

/** What a client requests. */
export interface Access {
  readonly resource: string;
  readonly scope: string;
}

const READ_NOTES: Access = { resource: NOTES, scope: 'notes:read' };

export interface SignedIn {
  /** The cookies of the browser. */
  readonly cookie: string;
  /** Unless it reads notes. */
  readonly access?: Access;
}

type Listening = Pick<ServerProcess, 'port'>;

/** The parameters of an authorization request, and the verifier that belongs to them. */
export function newRequest(
  clientId = 'web',
  access: Access = READ_NOTES,
): { readonly path: string; readonly verifier: string } {
  const verifier = randomBytes(32).toString('base64url');
  const parameters = new URLSearchParams({
    client_id: clientId,
    redirect_uri: CALLBACK,
    response_type: 'code',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...access,
    state: 'state',
  });
  return { path: `/authorize?${parameters}`, verifier };
}

/** Signs in by the pages, allows the client, and redeems the code, so that the grant is there to be remembered by. */
export async function signIn(server: Listening, access: Access = READ_NOTES): Promise<SignedIn> {
  let cookie = '';
  const user = createUser(ACCOUNT, async (visit) => {
    const { pathname, search } = new URL(visit.url);
    cookie = visit.headers.get('cookie') ?? cookie;
    const form = visit.method === 'POST' ? Object.fromEntries(new URLSearchParams(await visit.text())) : null;
    const headers = Object.fromEntries(visit.headers);
    const answer = await send(server, pathname + search, { headers, ...(form !== null && { form }) });
    return new Response(answer.text, { status: answer.status, headers: answer.headers });
  });
  const { path, verifier } = newRequest('web', access);
  const arrived = await user.authorize(`${ISSUER}${path}`);
  const { status, text } = await redeem(server, { code: arrived.searchParams.get('code') ?? '', verifier });
  if (status !== 200) throw new Error(`the first code was answered with ${status}: ${text}`);
  return { cookie, access };
}

/** One visit; the code comes without a question. Rejects when the server does not answer. */
export async function authorize(server: Listening, { cookie, access }: SignedIn): Promise<Code> {
  const { path, verifier } = newRequest('web', access);
  const answer = await send(server, path, { headers: { ...OWN_NAVIGATION, cookie } });
  const code = new URL(answer.headers.get('location') ?? ISSUER, ISSUER).searchParams.get('code');
  if (code === null) throw new Error(`no code, but ${answer.status}: ${answer.text}`);
  return { code, verifier };
}

/** Headers a browser sends for a typed address. */
const OWN_NAVIGATION = {
  'sec-fetch-site': 'none',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
};

export function redeem(server: Listening, { code, verifier }: Code): Promise<Answer> {
  const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: CALLBACK };
  return send(server, '/token', { form: { ...form, ...credentialsOf('web') } });
}

export function refresh(server: Listening, token: string): Promise<Answer> {
  const form = { grant_type: 'refresh_token', refresh_token: token, ...credentialsOf('web') };
  return send(server, '/token', { form });
}

/** Whether the server says that an access token stands. */
export async function isActive(server: Listening, token: string): Promise<boolean> {
  const { status, text, body } = await send(server, '/introspect', {
    form: { token, ...credentialsOf('notes-server') },
  });
  if (status !== 200) throw new Error(`introspection was answered with ${status}: ${text}`);
  return body['active'] === true;
}
