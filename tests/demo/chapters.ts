/** The demo's successful chapters: both profiles, refresh and rotation, client credentials. */
import { createHash } from 'node:crypto';
import type { Portcullis } from '../support/portcullis.ts';
import type { Checks } from './checks.ts';
import {
  authorizationRequestOf,
  bearer,
  callTool,
  claimsOf,
  createProgram,
  findExchange,
  formOf,
  postForm,
  readJson,
  robot,
  type Stage,
  type TokenResponse,
} from './stage.ts';
import type { Exchange, Transcript } from './transcript.ts';

export interface Scene {
  readonly stage: Stage;
  readonly transcript: Transcript;
  readonly checks: Checks;
  readonly tell: (text: string) => void;
}

/** The client and tokens of an authorization, for later chapters. */
export interface Granted {
  readonly clientId: string;
  readonly tokens: TokenResponse & { readonly refresh_token: string };
}

export async function profileA(scene: Scene): Promise<void> {
  const chapter = 'A';
  const said = await useNotes(scene, chapter, scene.stage.withMetadata);
  const { expect } = scene.checks;
  const metadata = findExchange(said, 'GET', '/.well-known/oauth-authorization-server');
  expect(chapter, 'metadata at the root of the host', 200, metadata?.status);
  expect(
    chapter,
    'protocol version sent with it',
    true,
    isDate(metadata?.headers.get('mcp-protocol-version')),
  );
  checkProfileA(scene, chapter, said);
}

export async function profileAWithoutMetadata(scene: Scene): Promise<void> {
  const chapter = 'A, defaults';
  const said = await useNotes(scene, chapter, scene.stage.withoutMetadata);
  const { expect } = scene.checks;
  const metadata = findExchange(said, 'GET', '/.well-known/oauth-authorization-server');
  expect(chapter, 'metadata', 404, metadata?.status);
  for (const [method, path] of [
    ['POST', '/register'],
    ['GET', '/authorize'],
    ['POST', '/token'],
  ] as const) {
    expect(chapter, `default endpoint ${path}`, 'used', findExchange(said, method, path) && 'used');
  }
  checkProfileA(scene, chapter, said);
}

export async function profileB(scene: Scene): Promise<Granted> {
  const chapter = 'B';
  const { checks, stage } = scene;
  const { url, resource } = stage.profileB;
  const said = await useNotes(scene, chapter, stage.profileB);

  const challenge = said[0]?.answered.get('www-authenticate');
  const place = `${url}/.well-known/oauth-protected-resource/mcp`;
  const names = challenge?.startsWith(`Bearer resource_metadata="${place}"`);
  checks.expect(chapter, 'challenge names the metadata', true, names);
  const document = findExchange(said, 'GET', '/.well-known/oauth-protected-resource/mcp');
  const { authorization_servers: servers } = JSON.parse(document?.got ?? '{}');
  checks.expect(chapter, 'authorization servers of the resource', [url], servers);
  const metadata = findExchange(said, 'GET', '/.well-known/oauth-authorization-server');
  checks.expect(chapter, 'authorization server metadata', 200, metadata?.status);
  const asked = authorizationRequestOf(said)?.get('resource');
  checks.expect(chapter, 'resource in the authorization request', resource, asked);
  const exchanged = findExchange(said, 'POST', '/token');
  checks.expect(chapter, 'resource in the token request', resource, formOf(exchanged).get('resource'));

  const tokens: Granted['tokens'] = JSON.parse(exchanged?.got ?? '{}');
  const clientId = formOf(exchanged).get('client_id') ?? '';
  checks.expect(chapter, 'audience of the token', resource, claimsOf(tokens.access_token)['aud']);
  return { clientId, tokens };
}

/** A client without tokens adds a note: discovery, registration and sign-in happen automatically. */
async function useNotes(scene: Scene, chapter: string, server: Portcullis): Promise<readonly Exchange[]> {
  const { transcript, checks, tell } = scene;
  const start = transcript.exchanges.length;
  const program = createProgram(server, transcript, tell);
  const answer = await callTool(program.fetch, server, 'add_note', { text: `By profile ${chapter}` });
  await transcript.settled();
  const said = transcript.exchanges.slice(start);

  checks.expect(chapter, 'first request, without a token', 401, said[0]?.status);
  checks.expect(chapter, 'registration', 201, findExchange(said, 'POST', '/register')?.status);
  const asked = authorizationRequestOf(said);
  const verifier = formOf(findExchange(said, 'POST', '/token')).get('code_verifier') ?? '';
  const derived = createHash('sha256').update(verifier).digest('base64url');
  checks.expect(chapter, 'PKCE: challenge is made from verifier', derived, asked?.get('code_challenge'));
  const returned = findExchange(said, 'GET', '/callback')?.url.searchParams;
  checks.expect(chapter, 'state comes back', asked?.get('state'), returned?.get('state'));
  checks.expect(chapter, 'a code comes back', true, returned?.has('code'));
  checks.expect(chapter, 'the request again, with the token', 200, answer.status);
  return said;
}

function checkProfileA({ checks }: Scene, chapter: string, said: readonly Exchange[]): void {
  const asked = authorizationRequestOf(said);
  checks.expect(chapter, 'no resource in the authorization request', false, asked?.has('resource'));
  const exchanged = findExchange(said, 'POST', '/token');
  checks.expect(chapter, 'no resource in the token request', false, formOf(exchanged).has('resource'));
}

function isDate(text: string | null | undefined): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text ?? '');
}

/** Refreshes twice. Returns the first refresh token, rotated twice since, and the newest tokens. */
export async function refresh(scene: Scene, { clientId, tokens }: Granted): Promise<Granted> {
  const chapter = 'refresh';
  const { checks, stage, transcript } = scene;
  const renew = (token: string) =>
    postForm(transcript.as('client'), `${stage.profileB.url}/token`, {
      grant_type: 'refresh_token',
      refresh_token: token,
      client_id: clientId,
      resource: stage.profileB.resource,
    });
  const first = await readJson<Granted['tokens']>(await renew(tokens.refresh_token));
  checks.expect(chapter, 'access token is another', false, first.access_token === tokens.access_token);
  checks.expect(chapter, 'refresh token is another', false, first.refresh_token === tokens.refresh_token);
  scene.tell(
    '     (the answer was lost on its way: the client asks again at once, and gets the same successor)\n',
  );
  const again = await readJson<Granted['tokens']>(await renew(tokens.refresh_token));
  checks.expect(
    chapter,
    'a retry gets the same successor',
    true,
    again.refresh_token === first.refresh_token,
  );
  const answer = await callTool(
    transcript.as('client'),
    stage.profileB,
    'list_notes',
    {},
    bearer(first.access_token),
  );
  checks.expect(chapter, 'request with the new token', 200, answer.status);
  scene.tell('     (the successor is used: from now on the first refresh token is an old one)\n');
  const second = await readJson<Granted['tokens']>(await renew(first.refresh_token));
  checks.expect(
    chapter,
    'the successor has one as well',
    false,
    second.refresh_token === first.refresh_token,
  );
  return { clientId, tokens: second };
}

export async function clientCredentials(scene: Scene): Promise<void> {
  const chapter = 'application';
  const { checks, stage, transcript, tell } = scene;
  const start = transcript.exchanges.length;
  const program = createProgram(stage.profileB, transcript, tell, {
    grant: { kind: 'application' },
    registration: {
      preregistered: [
        {
          clientId: robot.client_id,
          clientSecret: robot.client_secret,
          authentication: 'client_secret_basic',
        },
      ],
    },
  });
  const answer = await callTool(program.fetch, stage.profileB, 'whoami');
  const exchanged = findExchange(transcript.exchanges.slice(start), 'POST', '/token');
  const tokens: TokenResponse = JSON.parse(exchanged?.got ?? '{}');
  checks.expect(chapter, 'grant', 'client_credentials', formOf(exchanged).get('grant_type'));
  checks.expect(
    chapter,
    'subject is the client, not a user',
    robot.client_id,
    claimsOf(tokens.access_token)['sub'],
  );
  checks.expect(chapter, 'no refresh token', false, 'refresh_token' in tokens);
  checks.expect(chapter, 'request with the token', 200, answer.status);
}

/** The same with a token that is bound to a key of the client: useless without it. */
export async function boundToken(scene: Scene): Promise<void> {
  const chapter = 'DPoP';
  const { checks, stage, transcript, tell } = scene;
  const start = transcript.exchanges.length;
  const program = createProgram(stage.profileB, transcript, tell, { dpop: 'when-offered' });
  const answer = await callTool(program.fetch, stage.profileB, 'list_notes');
  await transcript.settled();
  const said = transcript.exchanges.slice(start);
  const pushed = findExchange(said, 'POST', '/par');
  checks.expect(
    chapter,
    'the request is pushed, with a proof',
    [201, true],
    [pushed?.status, pushed?.headers.has('dpop')],
  );
  const tokens: TokenResponse = JSON.parse(findExchange(said, 'POST', '/token')?.got ?? '{}');
  const { cnf } = claimsOf(tokens.access_token);
  checks.expect(
    chapter,
    'the token names a key',
    true,
    typeof (cnf as { jkt?: unknown } | undefined)?.jkt === 'string',
  );
  checks.expect(chapter, 'request with the token and a proof', 200, answer.status);
  tell('     (the token is stolen: the thief has no key)\n');
  const stolen = bearer(tokens.access_token);
  const refused = await callTool(transcript.as('client'), stage.profileB, 'list_notes', {}, stolen);
  checks.expect(chapter, 'the token alone', 401, refused.status);
}
