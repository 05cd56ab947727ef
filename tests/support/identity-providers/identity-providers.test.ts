/** The tests' identity providers behave as documented: tests are worth no more than they are. */
import { createHash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startGithub } from './github.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { type Lies, startMisbehaving } from './misbehaving.ts';
import { startOidc } from './oidc.ts';

const redirectUri = 'http://localhost:1/callback/there';
const verifier = 'a-verifier-of-forty-three-characters-0123456';
const challenge = createHash('sha256').update(verifier).digest('base64url');

function closedAfterwards<Party extends IdentityProvider>(party: Party): Party {
  onTestFinished(() => party.close());
  party.registerRedirectUri(redirectUri);
  return party;
}

interface Asked {
  readonly authorize: string;
  readonly scope: string;
  readonly answer?: 'allow' | 'deny';
}

/** Signs in at an identity provider as Ada, and returns its authorization response. */
async function visit(
  { client }: IdentityProvider,
  { authorize, scope, answer = 'allow' }: Asked,
): Promise<URL> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    scope,
    state: 'a state',
    nonce: 'a nonce',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const jar = new Map<string, string>();
  let url = new URL(`${authorize}?${query}`);
  let init: RequestInit = {};
  for (let step = 0; step < 8; step += 1) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { ...init, redirect: 'manual', headers: { cookie } });
    for (const text of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      jar.set(name, value);
    }
    const location = response.headers.get('location');
    if (location !== null) {
      url = new URL(location, url);
      init = {};
      if (url.href.startsWith(redirectUri)) return url;
    } else {
      const [, action = ''] = /action="([^"]*)"/.exec(await response.text()) ?? [];
      url = new URL(action.replaceAll('&amp;', '&'), url);
      init = { method: 'POST', body: new URLSearchParams({ login: 'ada', password: 'hers', answer }) };
    }
  }
  throw new Error(`no way out of ${url}`);
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
  readonly scope: string;
  readonly error?: string;
}

async function post(
  { client }: IdentityProvider,
  endpoint: string,
  form: Readonly<Record<string, string>>,
): Promise<Response> {
  const credentials = `${encodeURIComponent(client.id)}:${encodeURIComponent(client.secret)}`;
  return fetch(endpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(credentials)}`, accept: 'application/json' },
    body: new URLSearchParams(form),
    redirect: 'manual',
  });
}

async function redeem(party: IdentityProvider, endpoint: string, arrived: URL): Promise<Tokens> {
  const code = arrived.searchParams.get('code') ?? '';
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  return (await (await post(party, endpoint, form)).json()) as Tokens;
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}`, 'user-agent': 'test' } });

describe('oidc-provider', () => {
  const scope = 'openid email offline_access files:read';

  it('oidc-provider signs users in, issues tokens, refreshes and revokes them', async () => {
    const party = closedAfterwards(await startOidc());
    const arrived = await visit(party, { authorize: `${party.origin}/auth`, scope });
    expect(arrived.searchParams.get('state')).toBe('a state');
    expect(arrived.searchParams.get('iss')).toBe(party.origin);
    const first = await redeem(party, `${party.origin}/token`, arrived);
    expect(decodeJwt(first.id_token ?? '')).toMatchObject({
      sub: 'ada',
      nonce: 'a nonce',
      email: 'ada@third.example',
    });
    expect((await fetch(`${party.origin}/files`, bearer(first.access_token))).status).toBe(200);

    party.tokenLifetime = 5;
    const renewal = { grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' };
    const second = (await (await post(party, `${party.origin}/token`, renewal)).json()) as Tokens;
    expect(second).toMatchObject({ expires_in: 5 });
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(party.renewals()).toBe(1);
    expect(party.count('POST /token')).toBe(2);
    expect(party.given).toEqual(
      expect.arrayContaining([first.access_token, first.refresh_token, second.access_token]),
    );
    expect(party.typed).toContain('hers');
    expect(party.received()).toContain(first.refresh_token);

    expect(await party.isLive(second.access_token)).toBe(true);
    await party.revokeAll();
    expect(await party.isLive(second.access_token)).toBe(false);
    expect((await fetch(`${party.origin}/files`, bearer(second.access_token))).status).toBe(401);
  });

  it('oidc-provider revokes and introspects for its client, and rejects an unknown redirect URI', async () => {
    const party = closedAfterwards(await startOidc());
    const arrived = await visit(party, { authorize: `${party.origin}/auth`, scope });
    const { access_token: token } = await redeem(party, `${party.origin}/token`, arrived);
    const active = async () =>
      (await (await post(party, `${party.origin}/token/introspection`, { token })).json()) as object;
    expect(await active()).toMatchObject({ active: true, sub: 'ada' });
    await post(party, `${party.origin}/token/revocation`, { token });
    expect(await active()).toEqual({ active: false });
    const foreign = await fetch(
      `${party.origin}/auth?${new URLSearchParams({ client_id: party.client.id, response_type: 'code', redirect_uri: 'http://localhost:2/', scope: 'openid' })}`,
    );
    expect(foreign.status).toBe(400);
  });

  it('oidc-provider redirects access_denied when the user declines', async () => {
    const party = closedAfterwards(await startOidc());
    const arrived = await visit(party, { authorize: `${party.origin}/auth`, scope, answer: 'deny' });
    expect(arrived.searchParams.get('error')).toBe('access_denied');
  });
});

describe('the GitHub-like identity provider', () => {
  const scope = 'read:user user:email repo';

  it('the GitHub-like provider responds in its own format, and deletes tokens for its client', async () => {
    const party = closedAfterwards(await startGithub());
    const arrived = await visit(party, { authorize: party.authorizationEndpoint, scope });
    const tokens = await redeem(party, party.tokenEndpoint, arrived);
    expect(tokens).toEqual({
      access_token: expect.stringMatching(/^gho_/),
      token_type: 'bearer',
      scope: 'read:user,user:email,repo',
    });
    const user = await fetch(`${party.api}/user`, bearer(tokens.access_token));
    expect(await user.json()).toMatchObject({ id: expect.any(Number), login: 'ada', email: null });
    const repositories = await fetch(`${party.api}/user/repos`, bearer(tokens.access_token));
    expect(await repositories.json()).toHaveLength(2);
    const gone = await fetch(`${party.api}/applications/${party.client.id}/token`, {
      method: 'DELETE',
      headers: {
        authorization: `Basic ${btoa(`${party.client.id}:${encodeURIComponent(party.client.secret)}`)}`,
        'user-agent': 'test',
      },
      body: JSON.stringify({ access_token: tokens.access_token }),
    });
    expect(gone.status).toBe(204);
    expect((await fetch(`${party.api}/user`, bearer(tokens.access_token))).status).toBe(401);
    expect(party.given).toEqual([tokens.access_token]);
  });

  it('the GitHub-like provider reports errors with status 200, form-encoded unless JSON is requested', async () => {
    const party = closedAfterwards(await startGithub());
    const form = { client_id: party.client.id, client_secret: party.client.secret, code: 'made-up' };
    const response = await fetch(party.tokenEndpoint, { method: 'POST', body: new URLSearchParams(form) });
    expect(response.status).toBe(200);
    expect(new URLSearchParams(await response.text()).get('error')).toBe('bad_verification_code');
  });
});

describe('the misbehaving identity provider', () => {
  const scope = 'openid files:read';
  const come = async (lies: Lies = {}) => {
    const party = closedAfterwards(await startMisbehaving());
    party.lies = lies;
    const arrived = await visit(party, { authorize: `${party.origin}/authorize`, scope });
    return { party, arrived, tokens: await redeem(party, `${party.origin}/token`, arrived) };
  };

  it('the misbehaving provider behaves until told otherwise', async () => {
    const { party, arrived, tokens } = await come();
    expect(arrived.searchParams.get('iss')).toBe(party.origin);
    expect(decodeJwt(tokens.id_token ?? '')).toMatchObject({ iss: party.origin, nonce: 'a nonce' });
    expect((await fetch(`${party.origin}/files`, bearer(tokens.access_token))).status).toBe(200);
    party.revokeAll();
    expect((await fetch(`${party.origin}/files`, bearer(tokens.access_token))).status).toBe(401);
  });

  it('the misbehaving provider lies in responses and ID tokens', async () => {
    const { arrived, tokens } = await come({
      response: { state: 'another', iss: null },
      claims: { nonce: 'another', sub: undefined },
    });
    expect([arrived.searchParams.get('state'), arrived.searchParams.get('iss')]).toEqual(['another', null]);
    expect(decodeJwt(tokens.id_token ?? '')).toMatchObject({ nonce: 'another' });
    expect(decodeJwt(tokens.id_token ?? '')).not.toHaveProperty('sub');
  });

  it('the misbehaving provider fails at one endpoint until told otherwise', async () => {
    const { party, tokens } = await come();
    const renewal = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' };
    const renew = () => post(party, `${party.origin}/token`, renewal);
    party.at('refresh', { kind: 'status', status: 429, retryAfter: 7 });
    expect((await renew()).headers.get('retry-after')).toBe('7');
    party.at('refresh', { kind: 'cut' });
    await expect(renew()).rejects.toThrow();
    party.at('refresh', { kind: 'redirect', to: 'http://169.254.169.254/' });
    expect((await renew()).status).toBe(307);
    party.at('refresh', { kind: 'members', members: { access_token: 7 } });
    expect(await (await renew()).json()).toMatchObject({ access_token: 7 });
    party.at('refresh', null);
    expect((await renew()).status).toBe(400);
    expect(party.renewals()).toBe(5);
  });
});
