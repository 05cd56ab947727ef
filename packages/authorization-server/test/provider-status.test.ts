/** Status checks at identity providers: each preset with the responses that its provider documents, and users that change there. */
import { describe, expect, it } from 'vitest';
import {
  type MisbehavingIdentityProvider,
  startMisbehaving,
} from '../../../tests/support/identity-providers/misbehaving.ts';
import {
  auth0,
  github,
  gitlab,
  google,
  type IdentityProviderOptions,
  keycloak,
  microsoftEntra,
  okta,
  slack,
} from '../src/index.ts';
import {
  type FederationScene,
  logInByProvider,
  openId,
  redeemAt,
  setFederationScene,
  startProvider,
} from './federation-scene.ts';
import { claimsOf } from './server-under-test.ts';

type Members = Readonly<Record<string, unknown>>;

/** What a provider responds, and how its responses change for another user. */
interface ProviderResponses {
  readonly discovery?: Members;
  readonly subject: string;
  readonly introspection?: Members;
  readonly userinfo?: Members;
}

interface PresetCase {
  readonly preset: IdentityProviderOptions;
  readonly responses: ProviderResponses;
  /** The endpoint that a check requests; `null`: none. */
  readonly checkedAt: '/introspect' | '/userinfo' | null;
  /** Responses about another user. */
  readonly changed: Pick<ProviderResponses, 'introspection' | 'userinfo'>;
}

const client = { clientId: 'portcullis', clientSecret: 'secret' };
const NO_INTROSPECTION = { introspection_endpoint: undefined };

/** Okta documents the login name in `sub` and the user's id in `uid`. */
const OKTA_USER = '00uid4BxXw6I6TV4m0g3';

const presets: readonly PresetCase[] = [
  {
    preset: github(client),
    responses: { subject: '583231', userinfo: { id: 583_231, login: 'octocat' } },
    checkedAt: '/userinfo',
    changed: { userinfo: { id: 583_232, login: 'octocat' } },
  },
  {
    preset: google(client),
    responses: {
      discovery: NO_INTROSPECTION,
      subject: '110169484474386276334',
      userinfo: { sub: '110169484474386276334' },
    },
    checkedAt: '/userinfo',
    changed: { userinfo: { sub: '110169484474386276335' } },
  },
  {
    preset: microsoftEntra('8eaef023-2b34-4da1-9baa-8bc8c9d6a490', client),
    responses: {
      discovery: NO_INTROSPECTION,
      subject: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
      userinfo: { sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ' },
    },
    checkedAt: null,
    changed: {},
  },
  {
    preset: okta('example.okta.com', client),
    responses: {
      subject: OKTA_USER,
      introspection: { sub: 'john.doe@example.com', username: 'john.doe@example.com', uid: OKTA_USER },
      userinfo: { sub: OKTA_USER, preferred_username: 'john.doe@example.com' },
    },
    checkedAt: '/introspect',
    changed: {
      introspection: { sub: 'john.doe@example.com', uid: '00uid4BxXw6I6TV4m0g4' },
      userinfo: { sub: '00uid4BxXw6I6TV4m0g4' },
    },
  },
  {
    preset: auth0('example.eu.auth0.com', client),
    responses: { discovery: NO_INTROSPECTION, subject: 'auth0|5f7c', userinfo: { sub: 'auth0|5f7c' } },
    checkedAt: '/userinfo',
    changed: { userinfo: { sub: 'auth0|5f7d' } },
  },
  {
    preset: keycloak('https://sso.example', 'staff', client),
    responses: {
      subject: '9a1c5e0e-6a4a-4f2e-8a3f-0e1d1c2b3a49',
      introspection: { sub: '9a1c5e0e-6a4a-4f2e-8a3f-0e1d1c2b3a49', username: 'ada' },
      userinfo: { sub: '9a1c5e0e-6a4a-4f2e-8a3f-0e1d1c2b3a49' },
    },
    checkedAt: '/introspect',
    changed: { introspection: { sub: 'b7' }, userinfo: { sub: 'b7' } },
  },
  {
    // Doorkeeper has no `sub` in its introspection responses.
    preset: gitlab({ ...client, status: 'introspection' }),
    responses: { subject: '3124', introspection: { sub: undefined }, userinfo: { sub: '3124' } },
    checkedAt: '/introspect',
    changed: {},
  },
  {
    preset: slack(client),
    responses: { subject: 'T12345678.W12345678', userinfo: slackUser('W12345678') },
    checkedAt: '/userinfo',
    changed: { userinfo: slackUser('W12345679') },
  },
];

function slackUser(user: string): Members {
  return { ok: true, url: 'https://example.slack.com/', user: 'grace', team_id: 'T12345678', user_id: user };
}

/** The preset, with its endpoints at the provider of the test. */
function movedTo(
  { origin, client: { id, secret } }: MisbehavingIdentityProvider,
  { kind, ...preset }: IdentityProviderOptions,
): IdentityProviderOptions {
  const endpoints = {
    authorization: `${origin}/authorize`,
    token: `${origin}/token`,
    userinfo: `${origin}/userinfo`,
    revocation: `${origin}/revoke`,
  };
  return {
    ...preset,
    clientId: id,
    clientSecret: secret,
    kind: 'endpoints' in kind ? { ...kind, issuer: origin, endpoints } : { issuer: origin },
  };
}

/** Makes a provider respond with these members. */
function respondWith(provider: MisbehavingIdentityProvider, responses: Partial<ProviderResponses>): void {
  for (const endpoint of ['discovery', 'introspection', 'userinfo'] as const) {
    const members = responses[endpoint];
    if (members !== undefined) provider.at(endpoint, { kind: 'members', members });
  }
}

interface SignedIn {
  readonly t: FederationScene;
  readonly isLive: () => Promise<boolean>;
}

async function signIn(identityProvider: IdentityProviderOptions): Promise<SignedIn> {
  const t = await setFederationScene([identityProvider]);
  const { body } = await redeemAt(t, await logInByProvider(t.visitor));
  const claims = claimsOf(String(body['access_token']));
  return { t, isLive: () => t.server.isLive(claims as never) };
}

const endOf = ({ events }: FederationScene) => events.find(({ type }) => type === 'provider_token.ended');

describe('status checks with the responses that a provider documents', () => {
  it.each(presets.map((one) => ({ ...one, name: one.preset.name })))(
    '[GW-3P-10] the preset of $name keeps a connection alive, and ends it only for another user',
    async ({ preset, responses, checkedAt, changed }) => {
      const provider = await startProvider(startMisbehaving, preset.id);
      provider.lies = { claims: { sub: responses.subject } };
      respondWith(provider, responses);
      if (preset.id === 'slack') provider.at('token', { kind: 'members', members: { ok: true } });
      const { t, isLive } = await signIn(movedTo(provider, preset));
      const requests = () => checkedAt !== null && provider.count(`${METHODS[checkedAt]} ${checkedAt}`);

      for (let checks = 0; checks < 3; checks += 1) {
        const before = requests();
        t.clock.now += 60;
        expect(await isLive()).toBe(true);
        if (before !== false) expect(requests()).toBe(before + 1);
      }
      expect(endOf(t)).toBeUndefined();

      respondWith(provider, changed);
      t.clock.now += 60;
      expect(await isLive()).toBe(Object.keys(changed).length === 0);
      if (Object.keys(changed).length > 0) {
        expect(endOf(t)).toMatchObject({ reason: 'changed_by_provider' });
      }
    },
  );

  it('[GW-3P-10] the preset of Okta ends a connection when introspection calls the token inactive', async () => {
    const provider = await startProvider(startMisbehaving, 'okta');
    const { t, isLive } = await signIn(movedTo(provider, okta('example.okta.com', client)));
    t.clock.now += 60;
    expect(await isLive()).toBe(true);
    provider.revokeAll();
    t.clock.now += 60;
    expect(await isLive()).toBe(false);
    expect(endOf(t)).toMatchObject({ reason: 'revoked_by_provider' });
  });
});

const METHODS = { '/introspect': 'POST', '/userinfo': 'GET' } as const;

describe('an introspection response that names the user otherwise than the ID token', () => {
  const startSso = () => startProvider(startMisbehaving, 'files');
  const loginName = { kind: 'members', members: { sub: 'ada@third.example' } } as const;

  it('[GW-3P-10] is no other user while userinfo has the subject of the login', async () => {
    const sso = await startSso();
    sso.at('introspection', loginName);
    const { t, isLive } = await signIn(openId(sso));
    const before = sso.count('GET /userinfo');
    t.clock.now += 60;
    expect(await isLive()).toBe(true);
    expect(sso.count('GET /userinfo')).toBe(before + 1);
    expect(endOf(t)).toBeUndefined();
  });

  it('[GW-3P-10] is another user if userinfo says so, too', async () => {
    const sso = await startSso();
    sso.at('introspection', loginName);
    const { t, isLive } = await signIn(openId(sso));
    sso.at('userinfo', { kind: 'members', members: { sub: 'mallory' } });
    t.clock.now += 60;
    expect(await isLive()).toBe(false);
    expect(endOf(t)).toMatchObject({ reason: 'changed_by_provider' });
  });

  it.each([
    { description: 'does not accept the token', issue: { kind: 'status', status: 401 } },
    { description: 'is unavailable', issue: { kind: 'status', status: 503 } },
    { description: 'is no JSON', issue: { kind: 'text', body: '<html>' } },
  ] as const)('[GW-3P-10] concludes nothing where userinfo $description', async ({ issue }) => {
    const sso = await startSso();
    sso.at('introspection', loginName);
    const { t, isLive } = await signIn(openId(sso));
    sso.at('userinfo', issue);
    t.clock.now += 60;
    expect(await isLive()).toBe(true);
    expect(endOf(t)).toBeUndefined();
  });

  it('[GW-3P-10] is compared by the member that `introspectionSubject` names, without a request for userinfo', async () => {
    const sso = await startSso();
    sso.at('introspection', { kind: 'members', members: { sub: 'ada@third.example', user_id: 'ada' } });
    const { t, isLive } = await signIn(openId(sso, { introspectionSubject: 'user_id' }));
    const before = sso.count('GET /userinfo');
    t.clock.now += 60;
    expect(await isLive()).toBe(true);
    expect(sso.count('GET /userinfo')).toBe(before);
  });
});
