/** Rejections by the protected server over real HTTP: statuses, challenges, and no side effects. */
import { request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { createUser } from '../support/user.ts';
import { createMemoryProvider } from './memory-provider.ts';
import { type Session, sdkTwo } from './sdks.ts';
import { callTool } from './tools.ts';

let server: PortcullisHere;
let other: PortcullisHere;
/** A user with access, to see that nothing has changed. */
let session: Session;
/** Tokens by description. */
let tokens: Readonly<Record<'good' | 'foreign', string>>;

beforeAll(async () => {
  [server, other] = await Promise.all([startPortcullisHere(), startPortcullisHere()]);
  const here = await signIn(server);
  session = await sdkTwo.connect(server.resource, here.provider);
  tokens = { good: here.token, foreign: (await signIn(other)).token };
});

afterAll(async () => {
  await session.close();
  await Promise.all([server.stop(), other.stop()]);
});

async function signIn({ resource }: PortcullisHere) {
  const provider = createMemoryProvider({ redirectUrl: 'http://127.0.0.1:33418/callback' });
  await sdkTwo.signIn(resource, provider, createUser(owner));
  return { provider, token: provider.tokens()?.access_token ?? '' };
}

interface Answer {
  readonly status: number;
  readonly challenge: string;
  readonly location: string | undefined;
  readonly body: string;
}

/** Sends raw headers, also repeated ones. */
function send(
  path: string,
  method: string,
  headers: readonly string[],
  body: string | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, {
      method,
      headers: ['host', new URL(server.url).host, ...headers],
    });
    sent.once('error', reject);
    sent.once('response', async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve({
        status: response.statusCode ?? 0,
        challenge: response.headers['www-authenticate'] ?? '',
        location: response.headers.location,
        body: Buffer.concat(chunks).toString(),
      });
    });
    sent.end(body);
  });
}

/** A call that would add a note if it were accepted. */
function addNote(path: string, ...authorizations: readonly string[]): Promise<Answer> {
  const { headers, body } = callTool('add_note', { text: 'Must not be kept' });
  const raw = [...headers].flat();
  for (const value of authorizations) raw.push('authorization', value);
  return send(path, 'POST', [...raw, 'content-length', String(Buffer.byteLength(body))], body);
}

const documented = () => `resource_metadata="${server.url}/.well-known/oauth-protected-resource/mcp"`;

it.each(
  ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].flatMap((method) =>
    ['/mcp', '/mcp/below', '/mcp?access_token=good'].map((path) => ({ method, path })),
  ),
)(
  '[S-401-2 S-ERR-401 S-ERR-401B S-FLOW-B1] challenges $method $path without a token',
  async ({ method, path }) => {
    const query = path.replace('good', tokens.good);
    const answer = await send(query, method, [], undefined);
    expect(answer.status).toBe(401);
    expect(answer.challenge).toMatch(/^Bearer /);
    expect(answer.challenge).toContain(documented());
    expect(answer.challenge).not.toContain('error');
  },
);

it('[S-401-2 ALL-CORS-61] requires no token for public paths', async () => {
  const asked = ['origin', 'https://app.example', 'access-control-request-method', 'POST'];
  const preflight = await send(
    '/mcp',
    'OPTIONS',
    [...asked, 'access-control-request-headers', 'authorization'],
    undefined,
  );
  expect(preflight.status).toBe(204);
  for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp']) {
    expect((await send(path, 'GET', [], undefined)).status).toBe(200);
  }
});

it.each([
  { what: 'nonsense', header: () => 'Bearer nonsense' },
  { what: 'an unsigned JWT', header: () => `Bearer ${unsigned(tokens.good)}` },
  { what: 'a signature that was changed', header: () => `Bearer ${withOtherSignature(tokens.good)}` },
  { what: 'claims that were changed', header: () => `Bearer ${withOtherClaims(tokens.good)}` },
  { what: 'the token of another authorization server', header: () => `Bearer ${tokens.foreign}` },
])(
  '[S-ERR-401 S-ERR-401B S-ERR-ALL S-VAL-2 S-VAL-3 S-AUD-3] rejects $what and does nothing',
  async ({ header }) => {
    const before = await session.call('list_notes');
    const answer = await addNote('/mcp', header());
    expect(answer.status).toBe(401);
    expect(answer.challenge).toContain('error="invalid_token"');
    expect(answer.challenge).toContain(documented());
    expect(answer.location).toBeUndefined();
    expect(JSON.parse(answer.body)).toMatchObject({ error: 'invalid_token' });
    expect(answer.body).not.toContain('note');
    expect(await session.call('list_notes')).toEqual(before);
  },
);

it.each([
  { what: 'two tokens', headers: () => [`Bearer ${tokens.good}`, `Bearer ${tokens.good}`] },
  { what: 'two tokens in one header', headers: () => [`Bearer ${tokens.good}, Bearer ${tokens.good}`] },
  { what: 'a scheme without a token', headers: () => ['Bearer'] },
  { what: 'a token with a space in it', headers: () => [`Bearer ${tokens.good} more`] },
  { what: 'a token with a control character', headers: () => [`Bearer ${tokens.good}\t!`] },
])('[S-ERR-400 S-ERR-ALL S-VAL-2] rejects $what as malformed and does nothing', async ({ headers }) => {
  const before = await session.call('list_notes');
  const answer = await addNote('/mcp', ...headers());
  expect(answer.status).toBe(400);
  expect(answer.challenge).toContain('error="invalid_request"');
  expect(answer.location).toBeUndefined();
  expect(await session.call('list_notes')).toEqual(before);
});

it('[S-GEN-1 C-TOK-4] accepts the same call with a valid token, however the scheme is capitalized', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const answer = await addNote('/mcp', `${scheme} ${tokens.good}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toContain('Must not be kept');
  }
});

function unsigned(token: string): string {
  const header = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url');
  return `${header}.${token.split('.')[1]}.`;
}

function withOtherSignature(token: string): string {
  const [header, claims, signature = ''] = token.split('.');
  return `${header}.${claims}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
}

function withOtherClaims(token: string): string {
  const [header, claims = '', signature] = token.split('.');
  const changed = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), sub: 'user_other' };
  return `${header}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${signature}`;
}
