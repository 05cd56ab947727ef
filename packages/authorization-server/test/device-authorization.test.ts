/** Device authorization (RFC 8628): the endpoint, the pages where a user enters the code, and polling. */
import { createHash } from 'node:crypto';
import { createAuthorizationServer } from '@portcullis/authorization-server';
import { openStore } from '@portcullis/store';
import { describe, expect, it, vi } from 'vitest';
import type { AuthorizationServerOptions } from '../src/index.ts';
import { ACCOUNT, CLIENTS, claimsOf, ISSUER, MASTER_KEY, NOTES, RESOURCES } from './server-under-test.ts';
import { EMAIL, PASSWORD, type Scene, type Sight, setScene, textOf, type Visitor } from './visitor.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

const clients = [
  ...CLIENTS,
  {
    client_id: 'tv',
    client_name: 'Television',
    grant_types: [GRANT, 'refresh_token'],
    token_endpoint_auth_method: 'none',
  },
  { client_id: 'other-tv', grant_types: [GRANT], token_endpoint_auth_method: 'none' },
];

interface DeviceScene extends Scene {
  start(form?: Record<string, string>): ReturnType<Scene['post']>;
  poll(deviceCode: unknown, form?: Record<string, string>): ReturnType<Scene['post']>;
}

async function setDeviceScene(options: Partial<AuthorizationServerOptions> = {}): Promise<DeviceScene> {
  const t = await setScene({ clients, deviceAuthorization: true, ...options });
  return {
    ...t,
    start: (form = {}) => t.post('/device_authorization', { client_id: 'tv', ...form }),
    poll: (deviceCode, form = {}) =>
      t.post('/token', { grant_type: GRANT, client_id: 'tv', device_code: String(deviceCode), ...form }),
  };
}

/** Enters the code, confirms it, and signs in: leads to the consent page. */
async function enter(visitor: Visitor, userCode: unknown): Promise<Sight> {
  const form = await visitor.open('/device');
  const confirm = await visitor.submit(form, { user_code: String(userCode) }, '/device');
  const next = await visitor.submit(confirm, {}, '/device');
  return next.path.startsWith('/login') ? visitor.submit(next, { email: EMAIL, password: PASSWORD }) : next;
}

/** Answers the consent page, and follows the redirect to this server. */
async function answer(visitor: Visitor, consent: Sight, decision: 'allow' | 'deny'): Promise<Sight> {
  const done = await visitor.submit(consent, { decision });
  return done.left === null ? done : visitor.open(`${done.left.pathname}${done.left.search}`);
}

/** The `state` of the authorization transaction of a device. */
function stateOf(body: Readonly<Record<string, unknown>>): string {
  return createHash('sha256').update(String(body['device_code'])).digest('base64url');
}

describe('device authorization', () => {
  it('a device gets tokens after its user entered the code, signed in and consented', async () => {
    const t = await setDeviceScene();
    const { status, body } = await t.start({ scope: 'notes:read', resource: NOTES });
    expect([status, body]).toEqual([
      200,
      {
        device_code: expect.stringMatching(/^[\w-]{43}$/),
        user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
        verification_uri: `${ISSUER}/device`,
        verification_uri_complete: `${ISSUER}/device?user_code=${body['user_code']}`,
        expires_in: 600,
        interval: 5,
      },
    ]);
    expect((await t.poll(body['device_code'])).body['error']).toBe('authorization_pending');
    const consent = await enter(t.visitor, body['user_code']);
    expect(textOf(consent)).toContain('Television');
    expect(textOf(await answer(t.visitor, consent, 'allow'))).toContain('Your device is connected');
    t.clock.now += 6;
    const tokens = await t.poll(body['device_code']);
    expect(tokens.status).toBe(200);
    expect(tokens.body).toMatchObject({ scope: 'notes:read', refresh_token: expect.any(String) });
    expect(claimsOf(tokens.body['access_token'])).toMatchObject({
      sub: ACCOUNT,
      client_id: 'tv',
      aud: NOTES,
    });
    t.clock.now += 6;
    expect((await t.poll(body['device_code'])).body['error']).toBe('invalid_grant');
  });

  it('the metadata names the endpoint, which does not exist unless the option is on', async () => {
    const on = await setDeviceScene();
    const metadata = await on.send('/.well-known/oauth-authorization-server');
    expect(metadata.body['device_authorization_endpoint']).toBe(`${ISSUER}/device_authorization`);
    expect(metadata.body['grant_types_supported']).toContain(GRANT);
    const off = await setDeviceScene({ deviceAuthorization: false });
    expect((await off.start()).status).toBe(404);
    expect((await off.poll('x')).body['error']).toBe('unsupported_grant_type');
  });

  it('the confirmation page shows the code, the client, the address and a warning', async () => {
    const t = await setDeviceScene();
    const request = new Request(`${ISSUER}/device_authorization`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'tv' }),
    });
    const response = await t.server.handle(request, { address: '192.0.2.7' });
    const { user_code: userCode, verification_uri_complete: link } = (await response.json()) as Record<
      string,
      string
    >;
    const form = await t.visitor.open(String(link).slice(ISSUER.length));
    expect(form.html).toContain(`value="${userCode}"`);
    const text = textOf(
      await t.visitor.submit(form, { user_code: String(userCode).toLowerCase() }, '/device'),
    );
    expect(text).toContain(userCode);
    expect(text).toContain('Television asks for access');
    expect(text).toContain('192.0.2.7');
    expect(text).toContain('Continue only if you started this yourself');
  });

  it('a user who denies access ends the authorization', async () => {
    const t = await setDeviceScene();
    const { body } = await t.start();
    const denied = await answer(t.visitor, await enter(t.visitor, body['user_code']), 'deny');
    expect(textOf(denied)).toContain('Access was denied');
    const { status, body: refused } = await t.poll(body['device_code']);
    expect([status, refused['error']]).toEqual([400, 'access_denied']);
  });

  it.each([
    ['server_error', 500, 'Something went wrong on our side'],
    ['temporarily_unavailable', 503, 'This server is busy'],
    ['invalid_scope', 400, 'This request is not valid'],
  ])(
    'leaves a device pending after the error %s, so that its user can enter the code again',
    async (error, status, heading) => {
      const t = await setDeviceScene();
      const { body } = await t.start();
      await enter(t.visitor, body['user_code']);
      const before = t.snapshot();
      const failed = await t.visitor.open(`/device/done?error=${error}&state=${stateOf(body)}`);
      expect([failed.status, textOf(failed).includes(heading)]).toEqual([status, true]);
      expect(failed.html).toContain('href="/device"');
      expect(t.snapshot()).toBe(before);
      expect((await t.poll(body['device_code'])).body['error']).toBe('authorization_pending');
      const approved = await answer(t.visitor, await enter(t.visitor, body['user_code']), 'allow');
      expect(textOf(approved)).toContain('Your device is connected');
      t.clock.now += 6;
      expect((await t.poll(body['device_code'])).status).toBe(200);
    },
  );

  it.each<[string, (t: Scene) => Promise<unknown>]>([
    ['ended all access', (t) => t.store.revokeAccountGrants(ACCOUNT, null, t.clock.now)],
    [
      'was disabled and enabled again',
      async (t) => {
        await t.store.disableAccount(ACCOUNT, t.clock.now);
        await t.store.enableAccount(ACCOUNT);
      },
    ],
  ])('an approved device gets nothing after its user %s, however late it asks', async (_what, end) => {
    const scenes = [await setDeviceScene(), await setDeviceScene()] as const;
    const outcomes = scenes.map(async (t, index) => {
      const { body } = await t.start();
      await answer(t.visitor, await enter(t.visitor, body['user_code']), 'allow');
      t.clock.now += 300;
      if (index === 0) await end(t);
      const { status, body: polled } = await t.poll(body['device_code']);
      const grants = await t.store.listGrants(ACCOUNT, t.clock.now, null, 10);
      return [status, polled['error'], grants.length];
    });
    expect(await Promise.all(outcomes)).toEqual([
      [400, 'invalid_grant', 0],
      [200, undefined, 1],
    ]);
  });

  it('a device whose user code is in use is told to try again, and gets another one then', async () => {
    const t = await setDeviceScene();
    vi.spyOn(t.store, 'saveDeviceAuthorization').mockResolvedValueOnce(false);
    const before = t.snapshot();
    const { status, body } = await t.start();
    expect([status, body['error']]).toEqual([503, 'temporarily_unavailable']);
    expect(t.snapshot()).toBe(before);
    expect((await t.start()).status).toBe(200);
  });

  it('a device that polls too fast is slowed down for the rest of the authorization', async () => {
    const t = await setDeviceScene();
    const { body } = await t.start();
    const poll = async () => (await t.poll(body['device_code'])).body['error'];
    expect(await poll()).toBe('authorization_pending');
    t.clock.now += 4;
    expect(await poll()).toBe('slow_down');
    t.clock.now += 6;
    expect(await poll()).toBe('slow_down');
    t.clock.now += 15;
    expect(await poll()).toBe('authorization_pending');
  });

  it('an expired code can neither be entered, approved nor redeemed', async () => {
    const t = await setDeviceScene();
    const { body } = await t.start();
    const consent = await enter(t.visitor, body['user_code']);
    t.clock.now += 599;
    const late = await t.start();
    expect((await t.poll(body['device_code'])).body['error']).toBe('authorization_pending');
    t.clock.now += 1;
    const decided = await answer(t.visitor, consent, 'allow');
    expect(decided.status).not.toBe(200);
    t.clock.now += 10;
    expect((await t.poll(body['device_code'])).body['error']).toBe('expired_token');
    const form = await t.visitor.open('/device');
    expect((await t.visitor.submit(form, { user_code: String(body['user_code']) }, '/device')).status).toBe(
      400,
    );
    expect(
      (await t.visitor.submit(form, { user_code: String(late.body['user_code']) }, '/device')).status,
    ).toBe(200);
  });

  it('of two users who approve one code, the first counts', async () => {
    const t = await setDeviceScene();
    const { body } = await t.start();
    const [ada, eve] = [t.visitor, t.newVisitor('203.0.113.9')];
    const pages = [await enter(ada, body['user_code']), await enter(eve, body['user_code'])] as const;
    expect((await answer(ada, pages[0], 'allow')).status).toBe(200);
    const second = await answer(eve, pages[1], 'allow');
    expect([second.status, textOf(second).includes('can no longer be used')]).toEqual([400, true]);
    expect((await t.poll(body['device_code'])).status).toBe(200);
  });

  it('a user who approves twice, or after the denial, changes nothing more', async () => {
    const t = await setDeviceScene();
    for (const [first, outcome] of [
      ['allow', 200],
      ['deny', 400],
    ] as const) {
      const { body } = await t.start();
      const tabs = [
        await enter(t.visitor, body['user_code']),
        await enter(t.visitor, body['user_code']),
      ] as const;
      expect((await answer(t.visitor, tabs[0], first)).status).toBe(200);
      const second = await answer(t.visitor, tabs[1], 'allow');
      expect([second.status, textOf(second).includes('can no longer be used')]).toEqual([400, true]);
      // The form of the first tab once more.
      expect((await answer(t.visitor, tabs[0], 'allow')).status).not.toBe(200);
      expect((await t.poll(body['device_code'])).status).toBe(outcome);
    }
    expect(await t.store.listGrants(ACCOUNT, t.clock.now, null, 10)).toHaveLength(1);
  });

  it('a code that was decided cannot be entered again', async () => {
    const t = await setDeviceScene();
    const { body } = await t.start();
    await answer(t.visitor, await enter(t.visitor, body['user_code']), 'allow');
    const form = await t.visitor.open('/device');
    const again = await t.visitor.submit(form, { user_code: String(body['user_code']) }, '/device');
    expect(again.status).toBe(400);
  });

  it('of concurrent polls after the approval, one gets tokens', async () => {
    const t = await setDeviceScene();
    const { body } = await t.start();
    await answer(t.visitor, await enter(t.visitor, body['user_code']), 'allow');
    const polls = await Promise.all(Array.from({ length: 8 }, () => t.poll(body['device_code'])));
    expect(polls.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, body: refused } of polls.filter((one) => one.status !== 200)) {
      expect([status, ['slow_down', 'invalid_grant'].includes(String(refused['error']))]).toEqual([
        400,
        true,
      ]);
    }
    expect(await t.store.listGrants(ACCOUNT, t.clock.now, null, 10)).toHaveLength(1);
  });

  it('a device that polls too fast does not delay another one', async () => {
    const t = await setDeviceScene();
    const [hasty, patient] = [(await t.start()).body, (await t.start()).body];
    for (let poll = 0; poll < 5; poll += 1) await t.poll(hasty['device_code']);
    expect((await t.poll(hasty['device_code'])).body['error']).toBe('slow_down');
    expect((await t.poll(patient['device_code'])).body['error']).toBe('authorization_pending');
    await answer(t.visitor, await enter(t.visitor, hasty['user_code']), 'allow');
    t.clock.now += 60;
    expect((await t.poll(hasty['device_code'])).status).toBe(200);
  });

  it('guesses of user codes are limited by site', async () => {
    const t = await setDeviceScene();
    const { body } = await t.start();
    const guesser = t.newVisitor('203.0.113.9');
    const form = await guesser.open('/device');
    const statuses: number[] = [];
    for (let guess = 0; guess < 25; guess += 1) {
      statuses.push((await guesser.submit(form, { user_code: 'BBBB-BBBB' }, '/device')).status);
    }
    expect([statuses[0], statuses.at(-1)]).toEqual([400, 429]);
    const owner = t.newVisitor('192.0.2.1');
    expect((await enter(owner, body['user_code'])).status).toBe(200);
  });

  it('a device code of another client, a made-up one, and a client without the grant are refused', async () => {
    const t = await setDeviceScene();
    const { body } = await t.start();
    const before = t.snapshot();
    expect((await t.poll(body['device_code'], { client_id: 'other-tv' })).body['error']).toBe(
      'invalid_grant',
    );
    expect((await t.poll('a'.repeat(43))).body['error']).toBe('invalid_grant');
    expect((await t.start({ client_id: 'desktop' })).body['error']).toBe('unauthorized_client');
    expect((await t.start({ scope: 'admin' })).body['error']).toBe('invalid_scope');
    expect((await t.start({ resource: 'https://evil.example' })).body['error']).toBe('invalid_target');
    expect(t.snapshot()).toBe(before);
  });

  it('no client can request the callback of devices, and a code of another transaction decides nothing', async () => {
    const t = await setDeviceScene();
    const { body } = await t.start();
    const query = new URLSearchParams({ client_id: 'desktop', redirect_uri: `${ISSUER}/device/done` });
    expect((await t.visitor.open(`/authorize?${query}`)).status).toBe(400);
    const { code } = await t.issueCode();
    const state = stateOf(body);
    expect((await t.visitor.open(`/device/done?state=${state}&code=${code}`)).status).toBe(400);
    expect((await t.poll(body['device_code'])).body['error']).toBe('authorization_pending');
  });

  it('a form of another site enters no code', async () => {
    const t = await setDeviceScene();
    const { body } = await t.start();
    t.visitor.headers = { 'sec-fetch-site': 'cross-site' };
    const form = await t.visitor.open('/device');
    const sight = await t.visitor.submit(
      form,
      { user_code: String(body['user_code']), confirmed: 'yes' },
      '/device',
    );
    expect([sight.status, sight.path]).toEqual([403, '/device']);
  });

  it('a second process answers the poll of a device that the first one approved', async () => {
    const t = await setDeviceScene();
    const { body } = await t.start();
    await answer(t.visitor, await enter(t.visitor, body['user_code']), 'allow');
    const store = await openStore(t.file);
    const server = await createAuthorizationServer({
      issuer: ISSUER,
      store,
      masterKey: MASTER_KEY,
      resources: RESOURCES,
      clients,
      clock: () => t.clock.now,
      deviceAuthorization: true,
    });
    const form = { grant_type: GRANT, client_id: 'tv', device_code: String(body['device_code']) };
    const init = { method: 'POST', body: new URLSearchParams(form) };
    expect((await server.handle(new Request(`${ISSUER}/token`, init))).status).toBe(200);
    await server.close();
    await store.close();
  });
});
