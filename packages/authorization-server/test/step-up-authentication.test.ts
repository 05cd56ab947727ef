/** Step-up authentication (RFC 9470): `acr_values` and `max_age`, and what tokens say about the sign-in. */
import { describe, expect, it } from 'vitest';
import { codeOf, secretOn } from './code-app.ts';
import { CALLBACK, claimsOf, ISSUER, redemption, refreshing } from './server-under-test.ts';
import {
  decide,
  EMAIL,
  type Fields,
  PASSWORD,
  requestOf,
  type Scene,
  type Sight,
  setScene,
  textOf,
  VERIFIER,
  type Visitor,
} from './visitor.ts';

const SECRET = { client_id: 'web', client_secret: 'web-secret' };

async function redeem(t: Scene, { left }: Sight) {
  const code = left?.searchParams.get('code') ?? '';
  const form = { ...redemption(code, VERIFIER, 'web'), ...SECRET, redirect_uri: CALLBACK };
  const { body } = await t.post('/token', form);
  return { claims: claimsOf(body['access_token']), refreshToken: body['refresh_token'] };
}

/** The user opens a request with a session, and where that leads. */
async function open(t: Scene, parameters: Fields, visitor = t.visitor): Promise<string> {
  const { path, left } = await visitor.open(requestOf(parameters));
  return left?.searchParams.get('error') ?? path.split('?')[0] ?? '';
}

async function enableCodes(t: Scene, visitor: Visitor): Promise<string> {
  await visitor.submit(await visitor.open('/login'), { email: EMAIL, password: PASSWORD });
  const page = await visitor.submit(await visitor.open('/account/codes'), { password: PASSWORD });
  const secret = secretOn(page);
  await visitor.submit(page, { code: codeOf(secret, t.clock.now) });
  t.clock.now += 60;
  return secret;
}

describe('what tokens say about the sign-in', () => {
  it('an access token says when and how the user signed in, also after a refresh', async () => {
    const t = await setScene();
    const signedInAt = t.clock.now;
    const { claims, refreshToken } = await redeem(t, await decide(t.visitor, requestOf()));
    const expected = { auth_time: signedInAt, acr: '1fa', amr: ['pwd'] };
    expect(claims).toMatchObject(expected);
    t.clock.now += 3600;
    const { body } = await t.post('/token', { ...refreshing(refreshToken, 'web'), ...SECRET });
    expect(claimsOf(body['access_token'])).toMatchObject(expected);
  });

  it('a later authorization in the same session keeps the time of its sign-in', async () => {
    const t = await setScene();
    const signedInAt = t.clock.now;
    await decide(t.visitor, requestOf());
    t.clock.now += 1000;
    const { claims } = await redeem(t, await decide(t.visitor, requestOf({ scope: 'notes:write' })));
    expect(claims).toMatchObject({ auth_time: signedInAt, iat: signedInAt + 1000 });
  });

  it('the metadata names the classes that acr_values can ask for', async () => {
    const t = await setScene();
    const { body } = await t.send('/.well-known/oauth-authorization-server');
    expect(body['acr_values_supported']).toEqual(['1fa', '2fa']);
  });
});

describe('max_age', () => {
  it('a session that is too old for max_age is signed in again, and another is not', async () => {
    const t = await setScene();
    await decide(t.visitor, requestOf());
    t.clock.now += 300;
    expect(await open(t, { max_age: '301' })).toBe('/consent');
    expect(await open(t, { max_age: '300' })).toBe('/login');
    expect(await open(t, { max_age: '0' })).toBe('/login');
    const { claims } = await redeem(t, await decide(t.visitor, requestOf({ max_age: '60' })));
    expect(claims['auth_time']).toBe(t.clock.now);
  });

  it('a sign-in while the clock was ahead is too old for max_age', async () => {
    const t = await setScene();
    t.clock.now += 86_400;
    await decide(t.visitor, requestOf());
    t.clock.now -= 60;
    expect(await open(t, { max_age: '60' })).toBe('/consent');
    t.clock.now -= 1;
    expect(await open(t, { max_age: '60' })).toBe('/login');
    expect(await open(t, {})).toBe('/consent');
  });

  it('accepts a max_age of any length, which no session exceeds', async () => {
    const t = await setScene();
    await decide(t.visitor, requestOf());
    t.clock.now += 300;
    for (const max_age of ['9999999999', '99999999999', '9'.repeat(400)])
      expect(await open(t, { max_age })).toBe('/consent');
  });

  it('with prompt=none, a session that is too old gets login_required', async () => {
    const t = await setScene();
    await decide(t.visitor, requestOf());
    t.clock.now += 300;
    expect(await open(t, { max_age: '60', prompt: 'none' })).toBe('login_required');
  });

  it.each([{ max_age: '60' }, { acr_values: '2fa' }])(
    'with prompt=none, the error for a session that does not meet %j does not deny the session',
    async (parameters) => {
      const t = await setScene();
      await decide(t.visitor, requestOf());
      t.clock.now += 300;
      const { left } = await t.visitor.open(requestOf({ ...parameters, prompt: 'none' }));
      expect(Object.fromEntries(left?.searchParams ?? [])).toMatchObject({
        error: 'login_required',
        error_description: 'The user has to sign in: send the request without prompt=none.',
      });
    },
  );

  it.each(['-1', 'soon', '1.5'])('rejects a max_age that is no number of seconds: %s', async (max_age) => {
    const t = await setScene();
    expect(await open(t, { max_age })).toBe('invalid_request');
    expect(await open(t, { max_age: '60' })).toBe('/login');
  });
});

describe('acr_values', () => {
  it('a user without a second factor cannot meet 2fa, and the client learns that', async () => {
    const t = await setScene();
    await decide(t.visitor, requestOf());
    expect(await open(t, { acr_values: '2fa' })).toBe('/login');
    const before = await t.store.listGrants('user_ada', t.clock.now, null, 10);
    const login = await t.visitor.open(requestOf({ acr_values: '2fa' }));
    // Before the consent page: the user would decide in vain.
    const { left } = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect(left?.searchParams.get('error')).toBe('unmet_authentication_requirements');
    expect(left?.searchParams.get('error_description')).toBe(
      `This needs a sign-in with two factors: with an authenticator app or a passkey, which you can add at ${ISSUER}/account. Then try again.`,
    );
    expect(left?.searchParams.has('code')).toBe(false);
    expect(await t.store.listGrants('user_ada', t.clock.now, null, 10)).toEqual(before);
    expect(await open(t, { acr_values: '2fa 1fa' })).toBe('/consent');
  });

  it('a second factor meets 2fa, and the tokens say so', async () => {
    const t = await setScene();
    const secret = await enableCodes(t, t.newVisitor());
    await t.visitor.open('/login');
    const first = await t.visitor.submit(await t.visitor.open(requestOf({ acr_values: '2fa' })), {
      email: EMAIL,
      password: PASSWORD,
    });
    const consent = await t.visitor.submit(first, { code: codeOf(secret, t.clock.now) });
    const { claims } = await redeem(t, await t.visitor.submit(consent, { decision: 'allow' }));
    expect(claims).toMatchObject({ acr: '2fa', amr: ['pwd', 'otp', 'mfa'], auth_time: t.clock.now });
    expect(await open(t, { acr_values: '2fa' })).toBe('/consent');
  });

  it('a class that this server does not know cannot be met', async () => {
    const t = await setScene();
    const login = await t.visitor.open(requestOf({ acr_values: 'urn:example:gold' }));
    const { left } = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect(left?.searchParams.get('error')).toBe('unmet_authentication_requirements');
    expect(left?.searchParams.get('error_description')).toContain('there are 1fa and 2fa');
  });

  it('[AS-CIMD-27] acr_values that cannot be met lead to no client that registered itself without a click (open redirect)', async () => {
    const t = await setScene();
    const redirect_uri = 'https://phish.example/cb';
    const client_id = await t.registerClient({ redirect_uris: [redirect_uri], client_name: 'Phish' });
    const login = await t.visitor.open(
      requestOf({ client_id, redirect_uri, acr_values: 'urn:example:gold' }),
    );
    const sight = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect([sight.status, sight.left]).toEqual([400, null]);
    expect(textOf(sight)).toContain('phish.example');
    expect(await open(t, { client_id, redirect_uri })).toBe('/consent');
  });

  it('the page about unmet acr_values tells the user how to add a second factor, and not the developer of the app', async () => {
    const t = await setScene();
    const redirect_uri = 'https://app.example/cb';
    const client_id = await t.registerClient({ redirect_uris: [redirect_uri], client_name: 'Pay' });
    const signIn = async (acr_values: string) => {
      const visitor = t.newVisitor();
      const login = await visitor.open(requestOf({ client_id, redirect_uri, acr_values }));
      return visitor.submit(login, { email: EMAIL, password: PASSWORD });
    };
    const sight = await signIn('2fa');
    expect([sight.status, sight.left]).toEqual([400, null]);
    expect(textOf(sight)).toContain('You can fix this');
    expect(textOf(sight)).toContain('Pay needs a sign-in with two factors: with a passkey');
    expect(textOf(sight)).not.toContain('developer');
    expect(sight.html).toContain('<a href="/account">');
    // No factor of a user meets this one.
    expect(textOf(await signIn('urn:example:gold'))).toContain('developer: No sign-in here is of a class');
  });
});
