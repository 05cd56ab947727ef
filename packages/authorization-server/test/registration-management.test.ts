/** Registration management (RFC 7592): a client reads, updates and deletes its own registration. */
import { describe, expect, it } from 'vitest';
import {
  CALLBACK,
  claimsOf,
  ISSUER,
  redemption,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

interface Registered {
  readonly id: string;
  readonly token: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const METADATA = {
  client_name: 'Sketchbook',
  redirect_uris: [CALLBACK],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'none',
};

async function register(t: ServerUnderTest, metadata: object = METADATA): Promise<Registered> {
  const { body } = await t.register(metadata);
  return {
    id: String(body['client_id']),
    token: String(body['registration_access_token']),
    path: new URL(String(body['registration_client_uri'])).pathname,
    body,
  };
}

function manage(
  t: ServerUnderTest,
  method: string,
  { path, token }: Pick<Registered, 'path' | 'token'>,
  document?: unknown,
) {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(document !== undefined && { 'content-type': 'application/json' }),
  };
  return t.send(path, { method, headers, ...(document !== undefined && { body: JSON.stringify(document) }) });
}

/** A refusal that challenges for a token and changes nothing. */
async function expectUnauthorized(t: ServerUnderTest, path: string, init: RequestInit): Promise<void> {
  const before = t.snapshot();
  const { status, headers, body } = await t.send(path, init);
  expect([status, body['error']]).toEqual([401, 'invalid_token']);
  expect(headers.get('www-authenticate')).toMatch(/^Bearer/);
  expect(t.snapshot()).toBe(before);
}

describe('reading a registration', () => {
  it('[AS-DCRM-60] returns all registered metadata, and nothing that is not stored', async () => {
    const t = await startServer();
    const client = await register(t, { ...METADATA, token_endpoint_auth_method: 'client_secret_basic' });
    const { status, headers, body } = await manage(t, 'GET', client);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    const { client_secret, client_secret_expires_at, ...kept } = client.body;
    expect([client_secret, client_secret_expires_at]).toEqual([expect.any(String), 0]);
    expect(body).toEqual(kept);
    expect(body['registration_client_uri']).toBe(`${ISSUER}/register/${client.id}`);
  });

  it('[AS-DCRM-61] T045: only the client itself reads its registration: wrong tokens and unknown clients get the same response', async () => {
    const t = await startServer();
    const [client, other] = [await register(t), await register(t)];
    const wrong = ['', 'x', other.token, client.id, `${client.token}x`, client.token.slice(1)];
    const bodies = new Set<string>();
    for (const method of ['GET', 'PUT', 'DELETE']) {
      for (const token of wrong) {
        await expectUnauthorized(t, client.path, { method, headers: { authorization: `Bearer ${token}` } });
      }
      for (const authorization of [
        undefined,
        `Basic ${btoa(`${client.id}:${client.token}`)}`,
        client.token,
      ]) {
        await expectUnauthorized(t, client.path, {
          method,
          ...(authorization && { headers: { authorization } }),
        });
      }
      for (const id of ['missing', 'desktop', 'nightly', '', '%00', 'x'.repeat(5000), `${client.id}/`]) {
        const answer = await manage(t, method, { path: `/register/${id}`, token: client.token });
        expect(answer.status).toBe(401);
        bodies.add(answer.text);
      }
    }
    expect(bodies.size).toBe(1);
    expect((await manage(t, 'GET', client)).status).toBe(200);
  });

  it('an update that changes a verified client ends its verification, and the audit log says so', async () => {
    const t = await startServer();
    const client = await register(t);
    const listed = await t.server.clients.find(client.id);
    if (listed === null) throw new Error('not registered');
    expect(await t.server.clients.verify(client.id, listed.metadata)).toBe(true);
    const same = { ...METADATA, client_id: client.id };
    expect((await manage(t, 'PUT', client, same)).status).toBe(200);
    expect((await t.store.findClient(client.id))?.verifiedAt).not.toBeNull();
    expect((await manage(t, 'PUT', client, { ...same, client_name: 'Bank' })).status).toBe(200);
    expect((await t.store.findClient(client.id))?.verifiedAt).toBeNull();
    expect(t.events.filter(({ type }) => type === 'client.changed')).toMatchObject([
      { verificationEnded: true },
    ]);
  });

  it('T045: audit events contain no made-up path of an unauthenticated request', async () => {
    const t = await startServer();
    const client = await register(t);
    const before = t.snapshot();
    for (const id of ['made-up', 'made-up/2', client.id])
      await manage(t, 'GET', { path: `/register/${id}`, token: 'x' });
    expect(t.snapshot()).toBe(before);
    const refused = t.events.filter(({ type }) => type === 'request.rejected');
    expect(refused.map((event) => 'endpoint' in event && event.endpoint)).toEqual([
      '/register/*',
      '/register/*',
      '/register/*',
    ]);
    expect((await manage(t, 'GET', client)).status).toBe(200);
  });

  it('[AS-DCRM-61] T045: rejects clients that did not register and other authentication schemes; the audit log has the reason', async () => {
    const t = await startServer();
    const client = await register(t);
    await t.store.saveClient({
      id: 'client_of_the_operator',
      origin: 'administered',
      metadata: {
        redirect_uris: [CALLBACK],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'web',
      },
      secretHash: null,
      previousSecret: null,
      managementHash: null,
      createdAt: t.clock.now,
      lastUsedAt: null,
      disabledAt: null,
      enabledAt: null,
      verifiedAt: null,
      expiresAt: null,
    });
    const bearer = { headers: { authorization: `Bearer ${client.token}` } };
    await expectUnauthorized(t, '/register/client_of_the_operator', bearer);
    await expectUnauthorized(t, client.path, { headers: { authorization: `DPoP ${client.token}` } });
    await expectUnauthorized(t, client.path, { headers: { authorization: 'Bearer wrong' } });
    const reasons = t.events.flatMap((event) => (event.type === 'request.rejected' ? [event.reason] : []));
    expect(reasons).toEqual(
      ['unknown', 'unknown', 'wrong'].map((why) => `registration access token: ${why}`),
    );
    expect((await t.send(client.path, bearer)).status).toBe(200);
  });

  it('returns no error code to a request without a token', async () => {
    const t = await startServer();
    const { path } = await register(t);
    expect((await t.send(path)).headers.get('www-authenticate')).toBe('Bearer realm="registration"');
    const { headers } = await manage(t, 'GET', { path, token: 'x' });
    expect(headers.get('www-authenticate')).toBe('Bearer realm="registration", error="invalid_token"');
  });

  it('[AS-DCRM-61] rejects other methods at the registration endpoint with 405', async () => {
    const t = await startServer();
    const client = await register(t);
    for (const method of ['POST', 'PATCH']) {
      const { status, headers } = await manage(t, method, client, {});
      expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT, DELETE, OPTIONS']);
    }
    const preflight = await t.send(client.path, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'DELETE' },
    });
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, HEAD, PUT, DELETE');
  });

  it('S-STORE-1: the registration access token is not readable in the store', async () => {
    const t = await startServer();
    const { token } = await register(t);
    expect(t.snapshot()).not.toContain(token);
  });

  it('T045 T062: registration management can be disabled', async () => {
    const t = await startServer({ registration: { management: false } });
    const { status, body } = await t.register(METADATA);
    expect(status).toBe(201);
    expect(body).not.toHaveProperty('registration_client_uri');
    expect(body).not.toHaveProperty('registration_access_token');
    expect((await t.send(`/register/${body['client_id']}`)).status).toBe(404);
  });
});

describe('updating a registration', () => {
  it('[AS-DCRM-60] an update replaces all metadata: what is left out is removed', async () => {
    const t = await startServer();
    const client = await register(t, { ...METADATA, client_uri: 'https://app.example', scope: 'notes:read' });
    const changed = {
      client_id: client.id,
      redirect_uris: ['https://app.example/new'],
      token_endpoint_auth_method: 'none',
    };
    const { status, body } = await manage(t, 'PUT', client, changed);
    expect(status).toBe(200);
    expect(body).toEqual({
      ...changed,
      client_id_issued_at: client.body['client_id_issued_at'],
      registration_client_uri: `${ISSUER}${client.path}`,
      registration_access_token: client.token,
      grant_types: ['authorization_code'],
      response_types: ['code'],
      application_type: 'web',
    });
    expect((await manage(t, 'GET', client)).body).toEqual(body);
    const { code, verifier } = await t.issueCode({
      clientId: client.id,
      redirectUri: 'https://app.example/new',
    });
    const tokens = await t.post('/token', redemption(code, verifier, client.id));
    expect([tokens.status, tokens.body['refresh_token']]).toEqual([200, undefined]);
  });

  // biome-ignore format: a table
  const refused: readonly (readonly [string, object, string])[] = [
    ['without a client_id', { client_id: undefined }, 'invalid_client_metadata'],
    ['with the client_id of another', { client_id: 'desktop' }, 'invalid_client_metadata'],
    ['with a secret of its own choice', { client_secret: 'mine' }, 'invalid_client_metadata'],
    ['with the token in it', { registration_access_token: 'x' }, 'invalid_client_metadata'],
    ['with its address in it', { registration_client_uri: 'x' }, 'invalid_client_metadata'],
    ['with an expiry in it', { client_secret_expires_at: 0 }, 'invalid_client_metadata'],
    ['with its time of issue in it', { client_id_issued_at: 0 }, 'invalid_client_metadata'],
    ['with a script as redirect URI', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    ['with http as redirect URI', { redirect_uris: ['http://evil.example/cb'] }, 'invalid_redirect_uri'],
    ['without redirect URIs', { redirect_uris: undefined }, 'invalid_redirect_uri'],
    ['with client credentials alone', { grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
    ['with a method that does not exist', { token_endpoint_auth_method: 'tls_client_auth' }, 'invalid_client_metadata'],
    ['with a private key', { jwks: { keys: [{ kty: 'RSA', d: 'x' }] } }, 'invalid_client_metadata'],
    ['with a script as its page', { client_uri: 'javascript:alert(1)' }, 'invalid_client_metadata'],
  ];

  it.each(refused)(
    '[AS-DCRM-60] T045: rejects an update %s, as at registration',
    async (_what, changes, error) => {
      const t = await startServer();
      const client = await register(t);
      const before = t.snapshot();
      const document = { client_id: client.id, ...METADATA, ...changes };
      const { status, body } = await manage(t, 'PUT', client, document);
      expect([status, body['error']]).toEqual([400, error]);
      expect(t.snapshot()).toBe(before);
      expect((await manage(t, 'PUT', client, { client_id: client.id, ...METADATA })).status).toBe(200);
    },
  );

  it('T040 T045: an update grants no privileges', async () => {
    const t = await startServer();
    const client = await register(t);
    const greedy = {
      ...METADATA,
      client_id: client.id,
      trusted: true,
      skip_consent: true,
      origin: 'configured',
      grant_types: ['authorization_code', 'client_credentials'],
    };
    const { status, body } = await manage(t, 'PUT', client, greedy);
    expect(status).toBe(200);
    expect(body['grant_types']).toEqual(['authorization_code']);
    expect(t.snapshot()).not.toMatch(/trusted|skip_consent/);
  });

  it('an update keeps the secret, issues one to a client that newly needs it, and removes one that is not needed', async () => {
    const t = await startServer();
    const client = await register(t);
    const put = (changes: object) =>
      manage(t, 'PUT', client, { client_id: client.id, ...METADATA, ...changes });
    const redeem = async (more: Record<string, string>) => {
      const { code, verifier } = await t.issueCode({ clientId: client.id, redirectUri: CALLBACK });
      return (await t.post('/token', { ...redemption(code, verifier, client.id), ...more })).status;
    };
    const first = await put({ token_endpoint_auth_method: 'client_secret_post' });
    const client_secret = String(first.body['client_secret']);
    expect(first.body['client_secret_expires_at']).toBe(0);
    expect([await redeem({}), await redeem({ client_secret })]).toEqual([401, 200]);
    const again = await put({ token_endpoint_auth_method: 'client_secret_post', client_secret });
    expect([again.status, again.body['client_secret']]).toEqual([200, undefined]);
    expect(await redeem({ client_secret })).toBe(200);
    expect(t.events.filter(({ type }) => type === 'client.changed')).toEqual([
      { type: 'client.changed', clientId: client.id },
    ]);
    await put({});
    expect([await redeem({}), await redeem({ client_secret })]).toEqual([200, 401]);
  });

  it('an update drops redirect URIs of a private-use scheme that is not allowed, and says so in response and event', async () => {
    const t = await startServer();
    const client = await register(t);
    const put = (more: readonly string[]) =>
      manage(t, 'PUT', client, {
        ...METADATA,
        client_id: client.id,
        redirect_uris: [`${CALLBACK}/new`, ...more],
      });
    const { body } = await put(['myapp://callback']);
    expect([body['redirect_uris'], body['dropped_redirect_uris']]).toEqual([
      [`${CALLBACK}/new`],
      ['myapp://callback'],
    ]);
    expect((await t.store.findClient(client.id))?.metadata.redirect_uris).toEqual([`${CALLBACK}/new`]);
    expect((await put([`${CALLBACK}/other`])).body).not.toHaveProperty('dropped_redirect_uris');
    const common = { type: 'client.changed', clientId: client.id };
    expect(t.events.filter(({ type }) => type === 'client.changed')).toEqual([
      { ...common, droppedRedirectUris: ['myapp://callback'] },
      common,
    ]);
  });

  it('T045: an update without a change writes and audits nothing, however often', async () => {
    const t = await startServer();
    const client = await register(t, { ...METADATA, client_uri: 'https://app.example', scope: 'notes:read' });
    const { updateClient: changeClient } = t.store;
    let written = 0;
    t.store.updateClient = (...change) => {
      written += 1;
      return changeClient(...change);
    };
    const put = (document: object) => manage(t, 'PUT', client, { client_id: client.id, ...document });
    const same = { ...METADATA, client_uri: 'https://app.example', scope: 'notes:read' };
    for (let count = 0; count < 50; count += 1) {
      const { status, body } = await put(same);
      expect([status, body]).toEqual([200, client.body]);
    }
    expect(written).toBe(0);
    expect(t.events.filter(({ type }) => type === 'client.changed')).toEqual([]);
    expect((await put({ ...same, client_name: 'Another' })).body['client_name']).toBe('Another');
    expect(written).toBe(1);
    expect(t.events.filter(({ type }) => type === 'client.changed')).toHaveLength(1);
  });

  it('T045: limits updates to a burst of twenty and six a minute per client', async () => {
    const t = await startServer();
    const [client, other] = [await register(t), await register(t)];
    const put = (who: Registered, name: string) =>
      manage(t, 'PUT', who, { client_id: who.id, ...METADATA, client_name: name });
    for (let count = 0; count < 20; count += 1) expect((await put(client, `x${count}`)).status).toBe(200);
    const before = t.snapshot();
    const told = t.events.filter(({ type }) => type === 'client.changed').length;
    const { status, headers, body } = await put(client, 'one too many');
    expect([status, body['error']]).toEqual([429, 'temporarily_unavailable']);
    const wait = Number(headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(t.snapshot()).toBe(before);
    expect(t.events.filter(({ type }) => type === 'client.changed')).toHaveLength(told);
    // It may say again what it said, and read; another may change; and who waits may go on.
    expect((await put(client, 'x19')).status).toBe(200);
    expect((await manage(t, 'GET', client)).status).toBe(200);
    expect((await put(other, 'theirs')).status).toBe(200);
    t.clock.now += wait;
    expect((await put(client, 'later')).status).toBe(200);
    expect((await manage(t, 'DELETE', client)).status).toBe(204);
  });

  it.each([
    ['text', 'text/plain', '{}'],
    ['half a document', 'application/json', '{'],
    ['an array', 'application/json', '[]'],
    ['null', 'application/json', 'null'],
  ])('[AS-DCRM-60] rejects an update with the body %s', async (_what, type, body) => {
    const t = await startServer();
    const client = await register(t);
    const before = t.snapshot();
    const headers = { authorization: `Bearer ${client.token}`, 'content-type': type };
    const answer = await t.send(client.path, { method: 'PUT', headers, body });
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_client_metadata']);
    expect(t.snapshot()).toBe(before);
  });
});

describe('deleting a registration', () => {
  it('[AS-DCRM-60 AS-DCRM-61] T143: deletes the client with all its grants and tokens, and no other client', async () => {
    const t = await startServer();
    const [client, other] = [await register(t), await register(t)];
    const signIn = async ({ id }: Registered) =>
      (await t.signIn({ clientId: id, redirectUri: CALLBACK })).body;
    const [mine, theirs] = [await signIn(client), await signIn(other)];
    const pending = await t.issueCode({ clientId: client.id, redirectUri: CALLBACK });
    const live = (token: unknown) => t.server.isLive(claimsOf(token) as never);

    const { status, text, headers } = await manage(t, 'DELETE', client);
    expect([status, text, headers.get('cache-control')]).toEqual([204, '', 'no-store']);
    expect(await live(mine['access_token'])).toBe(false);
    for (const form of [
      refreshing(mine['refresh_token'], client.id),
      redemption(pending.code, pending.verifier, client.id),
    ]) {
      const refused = await t.post('/token', form);
      expect([refused.status, refused.body['error']]).toEqual([401, 'invalid_client']);
    }
    for (const method of ['GET', 'PUT', 'DELETE']) {
      await expectUnauthorized(t, client.path, {
        method,
        headers: { authorization: `Bearer ${client.token}` },
      });
    }
    expect(await live(theirs['access_token'])).toBe(true);
    expect((await t.post('/token', refreshing(theirs['refresh_token'], other.id))).status).toBe(200);
    expect(t.events).toContainEqual({ type: 'client.removed', clientId: client.id });
  });

  it('of concurrent deletions of a client one succeeds', async () => {
    const t = await startServer();
    const client = await register(t);
    const answers = await Promise.all(Array.from({ length: 10 }, () => manage(t, 'DELETE', client)));
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(9);
  });
});
