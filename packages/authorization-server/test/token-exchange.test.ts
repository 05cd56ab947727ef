/** Token exchange (RFC 8693): only the protected server gets the provider token, in exchange for a live access token. */
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  type GithubIdentityProvider,
  startGithub,
} from '../../../tests/support/identity-providers/github.ts';
import { createUser } from '../../../tests/support/user.ts';
import { createAccessTokenFormat } from '../src/keys/access-token-format.ts';
import { loadKeyRing } from '../src/keys/key-ring.ts';
import type { AuthorizationServerOptions } from '../src/options.ts';
import { createServerContext } from '../src/server.ts';
import { createProofHolder } from './proofs.ts';
import {
  ACCOUNT,
  basic,
  CLIENTS,
  claimsOf,
  FILES,
  ISSUER,
  MASTER_KEY,
  NOTES,
  RESOURCES,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

const exchanging = (client_id: string): object => ({
  client_id,
  client_secret: `${client_id}-secret`,
  grant_types: [GRANT],
  token_endpoint_auth_method: 'client_secret_basic',
});

let party: GithubIdentityProvider;

function optionsFor(there: GithubIdentityProvider): Partial<AuthorizationServerOptions> {
  return {
    outbound: { allowLoopback: true },
    resources: RESOURCES.map((definition) => ({
      ...definition,
      tokenExchangeClients: [definition.resource === NOTES ? 'notes-exchange' : 'files-exchange'],
    })),
    clients: [
      ...CLIENTS,
      exchanging('notes-exchange'),
      exchanging('files-exchange'),
      exchanging('nobodys-exchange'),
    ],
    identityProviders: [
      {
        id: 'github',
        name: 'GitHub',
        kind: {
          endpoints: {
            authorization: there.authorizationEndpoint,
            token: there.tokenEndpoint,
            userinfo: `${there.api}/user`,
          },
          userinfoClaims: { subject: 'id', name: 'login' },
          responseFormat: 'github',
        },
        clientId: there.client.id,
        clientSecret: there.client.secret,
        scopes: ['read:user'],
        upstreamScopes: { 'notes:write': ['repo'] },
      },
      {
        id: 'other',
        name: 'Other',
        kind: { issuer: 'https://other.example' },
        clientId: 'gate',
        scopes: ['openid'],
      },
    ],
  };
}

beforeEach(async () => {
  party = await startGithub();
  party.registerRedirectUri(`${ISSUER}/callback/github`);
});

async function open(options: Partial<AuthorizationServerOptions> = {}): Promise<ServerUnderTest> {
  const { close } = party;
  onTestFinished(close);
  return startServer({ ...optionsFor(party), ...options });
}

/** Signs Ada in at the identity provider for the public client `desktop`. Returns the client's tokens. */
async function connect(under: ServerUnderTest, login = 'ada', resource = NOTES) {
  const verifier = 'a-verifier-of-forty-three-characters-0123456';
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: 'desktop',
    redirect_uri: 'http://127.0.0.1:3000/callback',
    code_challenge: 'LSfGx-vGuxibVzLnGd6UH91seZXpJFuk4lLx0rHl4R8',
    code_challenge_method: 'S256',
    resource,
    ...(resource === NOTES && { scope: 'notes:read notes:write' }),
  });
  const user = createUser(
    { email: 'none@example.org', password: '' },
    (request) => (request.url.startsWith(ISSUER) ? under.server.handle(request) : fetch(request)),
    { id: 'github', origin: party.origin, login, password: 'theirs' },
  );
  const arrived = await user.authorize(`${ISSUER}/authorize?${query}`);
  const { body } = await under.post('/token', {
    grant_type: 'authorization_code',
    client_id: 'desktop',
    code: arrived.searchParams.get('code') ?? '',
    code_verifier: verifier,
  });
  return body as { readonly access_token: string; readonly refresh_token: string };
}

const form = (subject: unknown, more: Readonly<Record<string, string>> = {}) => ({
  grant_type: GRANT,
  subject_token: String(subject),
  subject_token_type: ACCESS_TOKEN,
  ...more,
});

const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';

const asNotes = basic('notes-exchange', 'notes-exchange-secret');

describe('token exchange', () => {
  it('[AS-EXCH-60] issues the protected server the provider token behind a user’s access token', async () => {
    const under = await open();
    const tokens = await connect(under);
    const answer = await under.post('/token', form(tokens.access_token, { audience: 'github' }), asNotes);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        access_token: party.given[0],
        issued_token_type: ACCESS_TOKEN,
        token_type: 'Bearer',
        scope: 'read:user repo',
      },
    });
    expect(answer.body).not.toHaveProperty('refresh_token');
    // GitHub’s tokens do not expire, so the response has no expires_in.
    expect(answer.body).not.toHaveProperty('expires_in');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('pragma')).toBe('no-cache');
    expect(party.received()).not.toContain(tokens.access_token.slice(-30));
    expect(under.events).toContainEqual(
      expect.objectContaining({
        type: 'provider_token.released',
        identityProvider: 'github',
        clientId: 'desktop',
        resource: NOTES,
        grantId: claimsOf(tokens.access_token)['grant_id'],
      }),
    );
    expect(JSON.stringify(under.events)).not.toContain(party.given[0]);
  });

  it('selects the identity provider by name, by issuer, or as the grant’s only one', async () => {
    const under = await open();
    const { access_token: token } = await connect(under);
    for (const more of [{}, { audience: 'github' }, { resource: party.origin }, { scope: 'repo' }]) {
      expect((await under.post('/token', form(token, more as never), asNotes)).status).toBe(200);
    }
  });

  it('a DPoP proof is accepted for one exchange', async () => {
    const under = await open();
    const { access_token: token } = await connect(under);
    const proof = await (await createProofHolder()).prove(under.clock.now);
    const exchange = () => under.post('/token', form(token), { ...asNotes, ...proof });
    expect((await exchange()).status).toBe(200);
    expect(await exchange()).toMatchObject({ status: 400, body: { error: 'invalid_dpop_proof' } });
  });

  it('token exchange is available only with identity providers', async () => {
    const grants = async (under: ServerUnderTest) =>
      (await under.send('/.well-known/oauth-authorization-server')).body['grant_types_supported'];
    expect(await grants(await open())).toContain(GRANT);
    const without = await startServer({ clients: [...CLIENTS, exchanging('notes-exchange')] });
    expect(await grants(without)).not.toContain(GRANT);
    expect((await without.post('/token', form('token'), asNotes)).body['error']).toBe(
      'unsupported_grant_type',
    );
  });

  it('no client can register for token exchange', async () => {
    const under = await open();
    const asked = {
      redirect_uris: ['https://app.example/callback'],
      grant_types: ['authorization_code', GRANT],
    };
    const { body } = await under.register({ ...asked, token_endpoint_auth_method: 'client_secret_basic' });
    expect(body['grant_types']).toEqual(['authorization_code']);
    expect((await under.register({ ...asked, grant_types: [GRANT] })).status).toBe(400);
  });
});

describe('an invalid subject token', () => {
  type Making = (under: ServerUnderTest, good: string) => Promise<unknown> | unknown;

  it.each<[string, Making]>([
    ['is junk', () => 'junk'],
    ['is nothing but dots', () => '..'],
    ['has another signature', (_under, good) => `${good.slice(0, -6)}AAAAAA`],
    ['is the refresh token of the client', async (under) => (await connect(under, 'bob')).refresh_token],
    ['is the provider token itself', () => party.given[0]],
    ['is for another resource', async (under) => (await connect(under, 'ada', FILES)).access_token],
    [
      'was revoked',
      async (under, good) => {
        const { access_token: token } = await connect(under, 'bob');
        await under.post('/revoke', { token, client_id: 'desktop' });
        expect(good).not.toBe(token);
        return token;
      },
    ],
    [
      'was revoked with its grant',
      async (under) => {
        const tokens = await connect(under, 'bob');
        await under.post('/revoke', { token: tokens.refresh_token, client_id: 'desktop' });
        return tokens.access_token;
      },
    ],
    [
      'is from another authorization server',
      async (under, good) => forge(under, good, { iss: 'https://other.example' }),
    ],
    [
      'is bound to a certificate',
      async (under, good) => forge(under, good, { cnf: { 'x5t#S256': 'A'.repeat(43) } }),
    ],
    [
      'is bound to a key without proof of possession',
      async (under, good) => forge(under, good, { cnf: { jkt: 'k' } }),
    ],
    ['names several resources', async (under, good) => forge(under, good, { aud: [NOTES, FILES] })],
    ['has expired', async (under, good) => forge(under, good, { exp: under.clock.now })],
    ['names an unknown grant', async (under, good) => forge(under, good, { grant_id: 'grant_none' })],
  ])('[AS-EXCH-60] T033 rejects a subject token that %s, and nothing changes', async (_name, make) => {
    const under = await open();
    const { access_token: good } = await connect(under);
    const token = await make(under, good);
    const before = under.snapshot();
    const answer = await under.post('/token', form(token, { audience: 'github' }), asNotes);
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(answer.text).not.toContain(party.given[0]);
    expect(under.snapshot()).toBe(before);
    expect((await under.post('/token', form(good), asNotes)).status).toBe(200);
  });

  it('[AS-EXCH-60] exchanges a DPoP-bound token for the resource that it is for, which checked the proof', async () => {
    const under = await open();
    const { access_token: good } = await connect(under);
    const bound = await forge(under, good, { cnf: { jkt: 'A'.repeat(43) } });
    expect((await under.post('/token', form(bound), asNotes)).status).toBe(200);
  });

  it.each([
    ['another identity provider', { audience: 'other' }, 'invalid_target'],
    ['an unknown identity provider', { audience: 'gitlab' }, 'invalid_target'],
    ['two targets at once', { audience: 'github', resource: 'https://other.example' }, 'invalid_target'],
    ['scopes that were not granted', { scope: 'repo delete_repo' }, 'invalid_scope'],
    ['an ID token', { requested_token_type: ID_TOKEN }, 'invalid_request'],
    ['a missing subject_token_type', { subject_token_type: '' }, 'invalid_request'],
    ['another subject_token_type', { subject_token_type: ID_TOKEN }, 'invalid_request'],
    ['an actor token', { actor_token: 'x', actor_token_type: ACCESS_TOKEN }, 'invalid_request'],
  ])('[AS-EXCH-60] T033 rejects a valid subject token for %s', async (_name, more, error) => {
    const under = await open();
    const { access_token: token } = await connect(under);
    const before = under.snapshot();
    const answer = await under.post('/token', form(token, more as never), asNotes);
    expect(answer).toMatchObject({ status: 400, body: { error } });
    expect(under.snapshot()).toBe(before);
    expect((await under.post('/token', form(token), asNotes)).status).toBe(200);
  });

  it('[AS-EXCH-60] rejects a token exchange without a subject token', async () => {
    const under = await open();
    const { access_token: token } = await connect(under);
    const before = under.snapshot();
    const { subject_token: _, ...without } = form(token);
    const answer = await under.post('/token', without, asNotes);
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(under.snapshot()).toBe(before);
    expect((await under.post('/token', form(token), asNotes)).status).toBe(200);
  });

  it('rejects the token of an application or of a local user, which has no identity provider', async () => {
    const under = await open();
    const nightly = await under.post(
      '/token',
      { grant_type: 'client_credentials', resource: NOTES },
      basic('nightly', 'nightly-secret'),
    );
    const local = await under.signIn();
    expect(claimsOf(local.body['access_token'])['sub']).toBe(ACCOUNT);
    for (const { body } of [nightly, local]) {
      const answer = await under.post('/token', form(body['access_token']), asNotes);
      expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
    }
  });
});

describe('clients that may not exchange tokens', () => {
  it.each([
    ['a client of the grant itself', {}, { client_id: 'desktop' }, 'unauthorized_client'],
    [
      'a server that no resource names',
      basic('nobodys-exchange', 'nobodys-exchange-secret'),
      {},
      'unauthorized_client',
    ],
    ['an application without the grant', basic('nightly', 'nightly-secret'), {}, 'unauthorized_client'],
    [
      'the server of another resource',
      basic('files-exchange', 'files-exchange-secret'),
      {},
      'invalid_request',
    ],
    ['a client with a wrong secret', basic('notes-exchange', 'guess'), {}, 'invalid_client'],
    ['a client without its secret', {}, { client_id: 'notes-exchange' }, 'invalid_client'],
  ])('rejects token exchange by %s', async (_name, headers, more, error) => {
    const under = await open();
    const { access_token: token } = await connect(under);
    const before = under.snapshot();
    const answer = await under.post('/token', form(token, more as never), headers);
    expect(answer.body['error']).toBe(error);
    expect(answer.text).not.toContain(party.given[0]);
    expect(under.snapshot()).toBe(before);
    expect((await under.post('/token', form(token), asNotes)).status).toBe(200);
  });

  it.each([
    [
      'a client that is not configured',
      { tokenExchangeClients: ['unknown'] },
      'is not a configured client with a secret or a key',
    ],
    [
      'a public client',
      { tokenExchangeClients: ['desktop'] },
      'is not a configured client with a secret or a key',
    ],
    ['a client without the grant', { tokenExchangeClients: ['nightly'] }, 'needs the grant type'],
  ])('startup rejects as a token exchange client: %s', async (_name, more, expected) => {
    const resources = RESOURCES.map((definition) => ({ ...definition, ...more }));
    await expect(open({ resources })).rejects.toThrow(expected);
  });
});

describe('limits and outages', () => {
  it('logs token exchanges for one grant at most once a minute', async () => {
    const under = await open();
    const { access_token: token } = await connect(under);
    const given = () => under.events.filter(({ type }) => type === 'provider_token.released').length;
    for (let count = 0; count < 3; count += 1) await under.post('/token', form(token), asNotes);
    await under.server.upstreamToken(claimsOf(token) as never);
    expect(given()).toBe(1);
    under.clock.now += 60;
    await under.server.upstreamToken(claimsOf(token) as never);
    expect(given()).toBe(2);
    // The clock was ahead.
    under.clock.now -= 61;
    await under.server.upstreamToken(claimsOf(token) as never);
    expect(given()).toBe(3);
  });

  it('rate-limits token exchange per grant', async () => {
    const under = await open({ rateLimits: { exchanges: { burst: 2, perMinute: 1 } } });
    const [first, second] = [await connect(under), await connect(under, 'bob')];
    const ask = (token: string) => under.post('/token', form(token), asNotes);
    for (let count = 0; count < 2; count += 1) expect((await ask(first.access_token)).status).toBe(200);
    const refused = await ask(first.access_token);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect((await ask(second.access_token)).status).toBe(200);
    under.clock.now += 60;
    expect((await ask(first.access_token)).status).toBe(200);
  });

  it('token exchange answers 503 while the provider token’s status is unavailable, and ends nothing', async () => {
    const under = await open();
    const { access_token: token } = await connect(under);
    under.clock.now += 61;
    party.outage = 503;
    const answer = await under.post('/token', form(token), asNotes);
    expect(answer).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    party.outage = null;
    under.clock.now += Number(answer.headers.get('retry-after'));
    expect((await under.post('/token', form(token), asNotes)).status).toBe(200);
  });

  it('rejects token exchange after the identity provider has revoked its token', async () => {
    const under = await open();
    const { access_token: token } = await connect(under);
    expect((await under.post('/token', form(token), asNotes)).status).toBe(200);
    party.revokeAll();
    under.clock.now += 61;
    expect((await under.post('/token', form(token), asNotes)).body['error']).toBe('invalid_request');
  });
});

/** Signs a token that our server would never issue, with its own key from the store. */
async function forge(under: ServerUnderTest, good: string, claims: object): Promise<string> {
  const context = createServerContext({
    issuer: ISSUER,
    store: under.store,
    masterKey: MASTER_KEY,
    resources: [{ resource: NOTES, name: 'Notes', scopes: {} }],
    clock: () => under.clock.now,
  });
  const { sign } = createAccessTokenFormat(await loadKeyRing(context), context.options);
  return sign({ ...claimsOf(good), ...claims } as never);
}
