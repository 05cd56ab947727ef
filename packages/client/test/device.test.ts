/** Sign-in without a local browser: device authorization (RFC 8628) and pasted redirect URLs. */
import { describe, expect, it } from 'vitest';
import { type ClientOptions, createPasteReceiver, type DevicePrompt } from '../src/index.ts';
import type { Told } from './support/stub-server.ts';
import { codeOf, createWorld, grant, refusal, type World } from './support/world.ts';

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

/** A world that offers device authorization; the token endpoint gives these answers, in order. */
async function deviceWorld(answers: readonly Told[], authorization: Readonly<Record<string, unknown>> = {}) {
  const world = await createWorld();
  const { origin } = world.as;
  world.as.on('GET /.well-known/oauth-authorization-server', {
    body: {
      issuer: origin,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      device_authorization_endpoint: `${origin}/device`,
    },
  });
  world.as.on('POST /device', {
    body: {
      ...{
        device_code: 'dc',
        user_code: 'WDJB-MJHT',
        verification_uri: 'https://as.example/device',
        expires_in: 600,
        interval: 5,
      },
      ...authorization,
    },
  });
  const waiting = [...answers];
  world.as.on('POST /token', () => waiting.shift() ?? grant(world, {}, ''));
  const shown: DevicePrompt[] = [];
  const slept: number[] = [];
  const options: Partial<ClientOptions> = {
    grant: { kind: 'device', show: (prompt) => void shown.push(prompt) },
    sleep: async (milliseconds) => {
      slept.push(milliseconds);
      world.advance(milliseconds);
    },
  };
  return { world, client: world.client(options), shown, slept };
}

describe('a code for another device', () => {
  it.each([0, 0.1, -1])('waits a second or more between polls at the interval %j', async (interval) => {
    const { world, client, slept } = await deviceWorld([refusal('authorization_pending')], { interval });
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    for (const milliseconds of slept) expect(milliseconds).toBeGreaterThanOrEqual(1000);
    expect(slept).toHaveLength(2);
  });

  it('shows the device code and polls at the interval of the server until the user has decided', async () => {
    const pending = refusal('authorization_pending');
    const { world, client, shown, slept } = await deviceWorld([
      pending,
      refusal('slow_down'),
      { status: 503 },
      pending,
    ]);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(shown).toEqual([
      {
        location: world.issuer,
        userCode: 'WDJB-MJHT',
        verificationUri: 'https://as.example/device',
        verificationUriComplete: null,
        expiresIn: 600,
      },
    ]);
    expect(slept).toEqual([5000, 5000, 10_000, 15_000, 15_000]);
    expect(Object.fromEntries(world.as.asked('/device')[0]?.form ?? [])).toMatchObject({
      resource: world.serverUrl,
    });
    expect(Object.fromEntries(world.as.asked('/token')[0]?.form ?? [])).toMatchObject({
      grant_type: DEVICE_CODE,
      device_code: 'dc',
      resource: world.serverUrl,
    });
    const registered = JSON.parse(world.as.asked('/register')[0]?.body ?? '{}');
    expect(registered).toMatchObject({ grant_types: [DEVICE_CODE, 'refresh_token'] });
    // better-auth refuses an empty list.
    expect(registered).not.toHaveProperty('redirect_uris');
    world.advance(590_000);
    await client.fetch(world.serverUrl);
    expect(world.as.asked('/token').at(-1)?.form.get('grant_type')).toBe('refresh_token');
  });

  it.each([
    ['access_denied', 'authorization_denied'],
    ['expired_token', 'cancelled'],
    ['invalid_grant', 'token_refused'],
  ])('the error %s ends device authorization as %s', async (error, code) => {
    const { world, client } = await deviceWorld([refusal('authorization_pending'), refusal(error)]);
    expect(await codeOf(client.fetch(world.serverUrl))).toBe(code);
    expect(world.as.asked('/token')).toHaveLength(2);
  });

  it('stops polling when the device code expires', async () => {
    const { world, client, slept } = await deviceWorld(Array(50).fill(refusal('authorization_pending')), {
      expires_in: 20,
    });
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('cancelled');
    expect(slept).toHaveLength(4);
  });

  it.each([
    [{ verification_uri: 'javascript:alert(1)' }],
    [{ verification_uri: 'http://as.example/device' }],
    [{ device_code: 7 }],
    [{ user_code: null }],
  ])('rejects a device authorization response with %j and shows nothing', async (authorization) => {
    const { world, client, shown } = await deviceWorld([], authorization);
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('token_response_invalid');
    expect(shown).toEqual([]);
  });

  it('reports a server without device authorization', async () => {
    const world = await createWorld();
    const client = world.client({ grant: { kind: 'device', show: () => undefined } });
    const failure: unknown = await client.fetch(world.serverUrl).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'sign_in_needed',
      message: expect.stringContaining('does not offer device authorization. Its operator can allow it'),
    });
    // No client is registered for a grant that is not supported.
    expect(world.as.asked('/register')).toEqual([]);
  });
});

describe('a pasted address', () => {
  /** The user signs in somewhere, and pastes what `change` makes of the address there. */
  function pasting(world: World, ...changes: ((arrived: string) => string)[]) {
    const told: string[] = [];
    let arrived = '';
    const options: Partial<ClientOptions> = {
      browser: {
        async open(url) {
          arrived = (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
        },
      },
      receiver: createPasteReceiver({
        read: async () => (changes.shift() ?? ((text) => text))(arrived),
        tell: (message) => told.push(message),
      }),
    };
    return { client: world.client(options), told };
  }

  it('accepts a pasted redirect URL with spaces around it', async () => {
    const world = await createWorld();
    const { client, told } = pasting(world, (arrived) => ` ${arrived}\n`);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(told).toEqual([
      expect.stringMatching(/^The app is connected to 127.0.0.1:\d+\/mcp. You can close/),
    ]);
  });

  it('[C-STATE-2] T115 asks again, a few times, for a pasted URL that matches no authorization', async () => {
    const world = await createWorld();
    const { client, told } = pasting(
      world,
      () => 'https://elsewhere.example/?state=x&code=y',
      () => 'what?',
    );
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(told).toHaveLength(3);

    const other = await createWorld();
    const { client: lost } = pasting(other, ...Array(3).fill(() => 'no'));
    expect(await codeOf(lost.fetch(other.serverUrl))).toBe('cancelled');
    expect(other.as.asked('/token')).toEqual([]);
  });
});
