/** Client authentication: each client by its registered method only, and failures reveal nothing. */
import { describe, expect, it } from 'vitest';
import {
  basic,
  CALLBACK,
  redemption,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const GRANT = { grant_type: 'client_credentials' };

/** Clients whose identifier or secret the encoding of Basic changes. */
const AWKWARD = [
  { client_id: 'a+b %41', client_secret: 'p+q%25 :ä' },
  { client_id: 'colon', client_secret: 'a:b:c' },
  { client_id: 'percent', client_secret: '100%' },
].map((client) => ({ ...client, grant_types: ['client_credentials'] }));

const formEncode = (text: string) => new URLSearchParams({ x: text }).toString().slice(2);

describe('client_secret_basic', () => {
  it.each(['Basic', 'basic', 'BASIC '])(
    '[AS-AUTH-61] accepts the scheme Basic in any case and spacing: %s',
    async (scheme) => {
      const { post } = await startServer();
      const { status } = await post('/token', GRANT, {
        authorization: `${scheme} ${btoa('nightly:nightly-secret')}`,
      });
      expect(status).toBe(200);
    },
  );

  it.each(AWKWARD)('[AS-AUTH-61] decodes form-encoded Basic credentials: $client_id', async (client) => {
    const { post } = await startServer({
      clients: AWKWARD,
      resources: [{ resource: 'https://a.example', name: 'A', scopes: {} }],
    });
    const encoded = basic(formEncode(client.client_id), formEncode(client.client_secret));
    expect((await post('/token', GRANT, encoded)).status).toBe(200);
    expect((await post('/token', GRANT, basic(formEncode(client.client_id), 'wrong'))).status).toBe(401);
  });

  it.each(AWKWARD)(
    '[AS-AUTH-62] accepts Basic credentials that SDKs send without form encoding: $client_id',
    async (client) => {
      const { post } = await startServer({
        clients: AWKWARD,
        resources: [{ resource: 'https://a.example', name: 'A', scopes: {} }],
      });
      const text = `${client.client_id}:${client.client_secret}`;
      const authorization = `Basic ${Buffer.from(text).toString('base64')}`;
      expect((await post('/token', GRANT, { authorization })).status).toBe(200);
    },
  );

  it.each([
    ['no base64', 'Basic %%%'],
    ['nothing', 'Basic'],
    ['spaces only', 'Basic   '],
    ['no colon', `Basic ${btoa('nightly')}`],
    ['two of them', `Basic ${btoa('nightly:nightly-secret')}, Basic ${btoa('nightly:nightly-secret')}`],
    ['an empty secret', `Basic ${btoa('nightly:')}`],
    ['an empty identifier', `Basic ${btoa(':nightly-secret')}`],
    ['a wrong secret', `Basic ${btoa('nightly:nightly-secret2')}`],
    ['a secret of another length', `Basic ${btoa('nightly:x')}`],
  ])(
    '[AS-AUTH-61 AS-TOK-72] responds to Basic with %s by 401 and a Basic challenge',
    async (_what, authorization) => {
      const { post, snapshot } = await startServer();
      const before = snapshot();
      const { status, body, headers } = await post('/token', GRANT, { authorization });
      expect([status, body['error']]).toEqual([401, 'invalid_client']);
      expect(headers.get('www-authenticate')).toMatch(/^Basic realm="/);
      expect(snapshot()).toBe(before);
    },
  );

  it.each(['/token', '/par', '/revoke', '/introspect', '/device_authorization'])(
    '[AS-TOK-72] the 401 of %s challenges a request with a bearer token, and none that used the form',
    async (path) => {
      const { post, snapshot } = await startServer({ deviceAuthorization: true });
      const before = snapshot();
      const bearer = await post(path, GRANT, { authorization: 'Bearer x' });
      expect([bearer.status, bearer.body['error']]).toEqual([401, 'invalid_client']);
      expect(bearer.headers.get('www-authenticate')).toMatch(/^Basic realm="/);
      const form = await post(path, { ...GRANT, client_id: 'nightly', client_secret: 'wrong' });
      expect([form.status, form.body['error']]).toEqual([401, 'invalid_client']);
      expect(form.headers.has('www-authenticate')).toBe(false);
      expect(snapshot()).toBe(before);
    },
  );
});

describe('only the registered authentication method', () => {
  /** Each way to present the confidential clients `web` (post) and `nightly` (basic), and the public `desktop`. */
  it.each([
    ['web', 'post', 200],
    ['web', 'basic', 401],
    ['web', 'name only', 401],
    ['nightly', 'basic', 200],
    ['nightly', 'post', 401],
    ['nightly', 'name only', 401],
    ['desktop', 'name only', 200],
    ['desktop', 'post', 401],
    ['desktop', 'basic', 401],
  ])(
    '[AS-AUTH-60 AS-AUTH-63 AS-AUTH-68 AS-REF-61] T026: a request of client %s with credentials by %s gets %i',
    async (clientId, way, expected) => {
      const t = await startServer();
      const secret = `${clientId}-secret`;
      const redirectUri = clientId === 'web' ? CALLBACK : 'http://127.0.0.1:3000/callback';
      const { code, verifier } = await t.issueCode({ clientId, redirectUri });
      const { client_id: _name, ...grant } = redemption(code, verifier, clientId);
      const form = clientId === 'nightly' ? GRANT : grant;
      const before = t.snapshot();
      const answer =
        way === 'basic'
          ? await t.post('/token', form, basic(clientId, secret))
          : await t.post('/token', {
              ...form,
              client_id: clientId,
              ...(way === 'post' && { client_secret: secret }),
            });
      expect(answer.status).toBe(expected);
      if (expected === 401) {
        expect(answer.body['error']).toBe('invalid_client');
        expect(t.snapshot()).toBe(before);
      }
    },
  );

  it.each(['client_secret_basic', 'client_secret_post'] as const)(
    '[AS-AUTH-63] T026: an empty secret does not authenticate a client with %s and no stored secret',
    async (method) => {
      const t = await startServer();
      const metadata = {
        redirect_uris: [CALLBACK],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        application_type: 'web',
      } as const;
      const times = {
        createdAt: t.clock.now,
        lastUsedAt: null,
        disabledAt: null,
        enabledAt: null,
        verifiedAt: null,
        expiresAt: null,
      };
      for (const [id, way] of [
        ['client_bare', method],
        ['client_open', 'none'],
      ] as const) {
        await t.store.saveClient({
          id,
          origin: 'registered',
          metadata: { ...metadata, token_endpoint_auth_method: way },
          secretHash: null,
          previousSecret: null,
          managementHash: null,
          ...times,
        });
      }
      const redeem = async (clientId: string) => {
        const { code, verifier } = await t.issueCode({ clientId, redirectUri: CALLBACK });
        const { client_id: _name, ...form } = redemption(code, verifier, clientId);
        return { form, named: { ...form, client_id: clientId } };
      };
      const { form, named } = await redeem('client_bare');
      const before = t.snapshot();
      const answers = [
        await t.post('/token', form, basic('client_bare', '')),
        await t.post('/token', { ...named, client_secret: '' }),
        await t.post('/token', named),
      ];
      expect(answers.map(({ status, body }) => [status, body['error']])).toEqual(
        answers.map(() => [401, 'invalid_client']),
      );
      expect(t.snapshot()).toBe(before);
      expect((await t.post('/token', (await redeem('client_open')).named)).status).toBe(200);
    },
  );

  it('[AS-REF-61] T026: rejects a refresh by a confidential client without its secret, and does not rotate the token', async () => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode({ clientId: 'web', redirectUri: CALLBACK });
    const secret = { client_secret: 'web-secret' };
    const { body } = await t.post('/token', { ...redemption(code, verifier, 'web'), ...secret });
    const before = t.snapshot();
    const refused = await t.post('/token', refreshing(body['refresh_token'], 'web'));
    expect([refused.status, refused.body['error']]).toEqual([401, 'invalid_client']);
    expect(t.snapshot()).toBe(before);
    expect((await t.post('/token', { ...refreshing(body['refresh_token'], 'web'), ...secret })).status).toBe(
      200,
    );
  });

  it.each([
    ['two methods', { client_id: 'nightly', client_secret: 'nightly-secret' }, 400, 'invalid_request'],
    [
      'two methods for two clients',
      { client_id: 'web', client_secret: 'web-secret' },
      400,
      'invalid_request',
    ],
    ['another name in the form', { client_id: 'desktop' }, 400, 'invalid_request'],
    ['the same name in the form', { client_id: 'nightly' }, 200, undefined],
    ['an empty secret in the form', { client_secret: '' }, 200, undefined],
  ])('[AS-TOK-73 AS-AUTH-65] checks a request with Basic and %s', async (_what, form, status, error) => {
    const { post } = await startServer();
    const answer = await post('/token', { ...GRANT, ...form }, basic('nightly', 'nightly-secret'));
    expect([answer.status, answer.body['error']]).toEqual([status, error]);
  });

  it('[AS-CODE-66] rejects a request that names no client', async () => {
    const { post, issueCode } = await startServer();
    const { code, verifier } = await issueCode();
    const { client_id, ...anonymous } = redemption(code, verifier);
    const { status, body } = await post('/token', anonymous);
    expect([status, body['error']]).toEqual([401, 'invalid_client']);
    expect((await post('/token', { ...anonymous, client_id: String(client_id) })).status).toBe(200);
  });

  it('ignores a bearer token in the Authorization header of a public client', async () => {
    const { signIn, post } = await startServer();
    const { body } = await signIn();
    const authorization = `Bearer ${body['access_token']}`;
    expect((await post('/token', refreshing(body['refresh_token']), { authorization })).status).toBe(200);
  });
});

describe('failed client authentication', () => {
  const everyRefusal: readonly (readonly [
    string,
    (t: ServerUnderTest) => ReturnType<ServerUnderTest['post']>,
  ])[] = [
    [
      'an unknown client',
      (t) => t.post('/token', { ...GRANT, client_id: 'missing', client_secret: 'web-secret' }),
    ],
    ['a wrong secret', (t) => t.post('/token', { ...GRANT, client_id: 'web', client_secret: 'x' })],
    [
      'another method',
      (t) => t.post('/token', { ...GRANT, client_id: 'nightly', client_secret: 'nightly-secret' }),
    ],
    [
      'a public client with a secret',
      (t) => t.post('/token', { ...GRANT, client_id: 'desktop', client_secret: 'x' }),
    ],
    [
      'an identifier of 60 KB',
      (t) => t.post('/token', { ...GRANT, client_id: 'x'.repeat(60_000), client_secret: 'x' }),
    ],
    [
      'a name that objects have',
      (t) => t.post('/token', { ...GRANT, client_id: '__proto__', client_secret: 'x' }),
    ],
  ];

  it('[AS-TOK-74] T036: failed client authentications look alike, whatever was wrong', async () => {
    const t = await startServer();
    const answers = await Promise.all(everyRefusal.map(([, send]) => send(t)));
    for (const { status, text, headers } of answers) {
      expect([status, text, [...headers]]).toEqual([401, answers[0]?.text, [...(answers[0]?.headers ?? [])]]);
      expect(headers.get('cache-control')).toBe('no-store');
    }
    expect(answers[0]?.body).toEqual({
      error: 'invalid_client',
      error_description: 'Client authentication failed.',
    });
  });

  it('why a client authentication failed is in the audit log only', async () => {
    const t = await startServer();
    for (const [, send] of everyRefusal.slice(0, 3)) await send(t);
    const reasons = t.events.flatMap((event) => (event.type === 'request.rejected' ? [event.reason] : []));
    expect(reasons).toEqual([
      'unknown client',
      'wrong secret: "web"',
      'client_secret_post was used, client_secret_basic is registered: "nightly"',
    ]);
  });
});
