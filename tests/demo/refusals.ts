/** The chapter of rejections: every error of the seed's section 7, provoked by a client that breaks the rules. */
import { setTimeout as sleep } from 'node:timers/promises';
import { owner } from '../support/portcullis.ts';
import { createUser } from '../support/user.ts';
import type { Granted, Scene } from './chapters.ts';
import { bearer, callTool, claimsOf, postForm, readJson, robot, type TokenResponse } from './stage.ts';
import type { Fetch } from './transcript.ts';

/** The guard's clock tolerance in seconds. */
const SKEW = 5;

const CALLBACK = 'http://127.0.0.1:33418/callback';

/** Gets a token that will have expired when the rejections are tested. */
export async function getShortLivedToken({ stage, transcript }: Scene): Promise<string> {
  const send = transcript.as('client');
  const credentials = Buffer.from(`${robot.client_id}:${encodeURIComponent(robot.client_secret)}`).toString(
    'base64',
  );
  const answer = await postForm(
    send,
    `${stage.shortLived.url}/token`,
    { grant_type: 'client_credentials', resource: stage.shortLived.resource },
    { authorization: `Basic ${credentials}` },
  );
  return (await readJson<TokenResponse>(answer)).access_token;
}

/** 401: authorization is required and not proven, or the token is invalid or expired. */
export async function rejectUnauthorized(scene: Scene, granted: Granted, shortLived: string): Promise<void> {
  const { stage, transcript, checks } = scene;
  const send = transcript.as('attacker');
  const token = granted.tokens.access_token;
  const foreign = await foreignToken(scene);
  const { url, resource } = stage.profileB;
  const cases = [
    ['no token', () => callTool(send, stage.profileB, 'list_notes'), 'without error'],
    [
      'a token in the query',
      () => callTool(send, atQuery(stage.profileB, token), 'list_notes'),
      'without error',
    ],
    ['an invented token', () => callWith(send, scene, 'invented'), 'invalid_token'],
    ['a token with a changed claim', () => callWith(send, scene, forge(token)), 'invalid_token'],
    ['a token of another server', () => callWith(send, scene, foreign), 'invalid_token'],
  ] as const;
  for (const [what, ask, error] of cases) {
    const answer = await ask();
    const challenge = answer.headers.get('www-authenticate') ?? '';
    checks.expect('401', what, `401 ${error}`, `${answer.status} ${errorOf(challenge)}`);
    const place = `resource_metadata="${url}/.well-known/oauth-protected-resource${new URL(resource).pathname}"`;
    checks.expect('401', `${what}: challenge`, true, challenge.includes(place));
  }
  const end = Number(claimsOf(shortLived)['exp']) + SKEW;
  await sleep(Math.max(0, end * 1000 + 100 - Date.now()));
  const expired = await callTool(send, stage.shortLived, 'whoami', {}, bearer(shortLived));
  const challenge = expired.headers.get('www-authenticate') ?? '';
  checks.expect('401', 'an expired token', '401 invalid_token', `${expired.status} ${errorOf(challenge)}`);
}

/** 403: invalid scopes or insufficient permissions. */
export async function rejectInsufficientScope(scene: Scene, { clientId }: Granted): Promise<void> {
  const { stage, transcript, checks } = scene;
  const send = transcript.as('attacker');
  const { tokens } = await signIn(scene, clientId, { scope: 'notes:read' });
  const allowed = await callTool(send, stage.profileB, 'list_notes', {}, bearer(tokens.access_token));
  checks.expect('403', 'reading with notes:read', 200, allowed.status);
  const refused = await callTool(
    send,
    stage.profileB,
    'add_note',
    { text: 'no' },
    bearer(tokens.access_token),
  );
  const challenge = refused.headers.get('www-authenticate') ?? '';
  const needed = /scope="([^"]*)"/.exec(challenge)?.[1]?.split(' ');
  checks.expect(
    '403',
    'writing with it',
    '403 insufficient_scope',
    `${refused.status} ${errorOf(challenge)}`,
  );
  checks.expect('403', 'the scope that is needed is named', true, needed?.includes('notes:write'));
}

/** 400: the authorization request is malformed. */
export async function rejectMalformed(scene: Scene, { clientId, tokens }: Granted): Promise<void> {
  const { stage, transcript, checks } = scene;
  const send = transcript.as('attacker');
  const { url } = stage.profileB;
  const ask = (parameters: Readonly<Record<string, string>>) =>
    send(`${url}/authorize?${new URLSearchParams(parameters)}`, { redirect: 'manual' });
  const request = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: CALLBACK,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  };
  const { code_challenge: _challenge, ...withoutChallenge } = request;
  const answers = {
    'no code_challenge': await ask(withoutChallenge),
    'code_challenge_method plain': await ask({ ...request, code_challenge_method: 'plain' }),
    'redirect_uri that was not registered': await ask({
      ...request,
      redirect_uri: 'https://evil.example/cb',
    }),
    'an unknown client': await ask({ ...request, client_id: 'unknown' }),
    'a resource that is not protected here': await ask({ ...request, resource: 'https://other.example/mcp' }),
    'two tokens in one request': await callTool(
      send,
      stage.profileB,
      'list_notes',
      {},
      {
        authorization: `Bearer ${tokens.access_token}, Bearer ${tokens.access_token}`,
      },
    ),
    'a redirect URI without https at registration': await send(`${url}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['http://evil.example/cb'] }),
    }),
  };
  for (const [what, answer] of Object.entries(answers)) {
    checks.expect(
      '400',
      what,
      '400, no redirect',
      `${answer.status}, ${answer.headers.has('location') ? 'a' : 'no'} redirect`,
    );
  }
}

/** Rejections by the token endpoint: used, stolen or forged codes and refresh tokens. */
export async function rejectAtTokenEndpoint(scene: Scene, first: Granted, newest: Granted): Promise<void> {
  const { stage, transcript, checks } = scene;
  const send = transcript.as('attacker');
  const { url } = stage.profileB;
  const token = async (fields: Readonly<Record<string, string>>) => {
    const answer = await postForm(send, `${url}/token`, { client_id: first.clientId, ...fields });
    return `${answer.status} ${(await readJson<{ error: string }>(answer)).error}`;
  };
  const refresh = (value: string) => token({ grant_type: 'refresh_token', refresh_token: value });
  const { code, verifier } = await signIn(scene, first.clientId, {});
  const redeem = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK };
  const seen = {
    'a code for the second time': await token({ ...redeem, code_verifier: verifier }),
    'an invented code': await token({ ...redeem, code: 'invented', code_verifier: verifier }),
    'a grant type that there is not': await token({ grant_type: 'password' }),
    'client credentials of a public client': await token({ grant_type: 'client_credentials' }),
    'an old refresh token': await refresh(first.tokens.refresh_token),
    'its successor, after that': await refresh(newest.tokens.refresh_token),
  };
  const expected = {
    'a code for the second time': '400 invalid_grant',
    'an invented code': '400 invalid_grant',
    'a grant type that there is not': '400 unsupported_grant_type',
    'client credentials of a public client': '400 unauthorized_client',
    'an old refresh token': '400 invalid_grant',
    'its successor, after that': '400 invalid_grant',
  };
  for (const what of Object.keys(expected) as (keyof typeof expected)[]) {
    checks.expect('token endpoint', what, expected[what], seen[what]);
  }
  const revoked = await callTool(send, stage.profileB, 'list_notes', {}, bearer(newest.tokens.access_token));
  checks.expect('token endpoint', 'access token of that family', 401, revoked.status);
}

/** An authorization by hand, with the code_verifier of RFC 7636, appendix B. */
async function signIn(
  { stage, transcript }: Scene,
  clientId: string,
  more: Readonly<Record<string, string>>,
): Promise<{ readonly code: string; readonly verifier: string; readonly tokens: TokenResponse }> {
  const { url, resource } = stage.profileB;
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
  const address = new URL(`${url}/authorize`);
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: CALLBACK,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    resource,
    ...more,
  }).toString();
  const back = await createUser(owner, transcript.as('browser')).authorize(address);
  const code = back.searchParams.get('code') ?? '';
  const answer = await postForm(transcript.as('client'), `${url}/token`, {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    redirect_uri: CALLBACK,
    code_verifier: verifier,
    resource,
  });
  return { code, verifier, tokens: await readJson<TokenResponse>(answer) };
}

/** A valid token of another server. */
async function foreignToken(scene: Scene): Promise<string> {
  return getShortLivedToken(scene);
}

function callWith(send: Fetch, { stage }: Scene, token: string): Promise<Response> {
  return callTool(send, stage.profileB, 'list_notes', {}, bearer(token));
}

/** The resource URL with a token in the query, where none is allowed. */
function atQuery<Server extends { readonly resource: string }>(server: Server, token: string): Server {
  return { ...server, resource: `${server.resource}?access_token=${token}` };
}

/** The same signature under other claims. */
function forge(token: string): string {
  const [header, payload = '', signature] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const forged = Buffer.from(JSON.stringify({ ...claims, sub: 'user_other' })).toString('base64url');
  return [header, forged, signature].join('.');
}

function errorOf(challenge: string): string {
  return /\berror="([^"]*)"/.exec(challenge)?.[1] ?? 'without error';
}
