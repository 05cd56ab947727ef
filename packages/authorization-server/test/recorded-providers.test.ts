/** Every provider of docs/identity-providers.md, with the responses that its documents describe: sign-in, refresh, revocation, outage. */
import { generateKeyPairSync } from 'node:crypto';
import type { AccessTokenClaims } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import { apple } from '../../../tests/support/identity-providers/recorded/apple.ts';
import { auth0 as auth0Responses } from '../../../tests/support/identity-providers/recorded/auth0.ts';
import { authentik } from '../../../tests/support/identity-providers/recorded/authentik.ts';
import { cognito } from '../../../tests/support/identity-providers/recorded/cognito.ts';
import { entra } from '../../../tests/support/identity-providers/recorded/entra.ts';
import { github as githubResponses } from '../../../tests/support/identity-providers/recorded/github.ts';
import { gitlab as gitlabResponses } from '../../../tests/support/identity-providers/recorded/gitlab.ts';
import { google as googleResponses } from '../../../tests/support/identity-providers/recorded/google.ts';
import { keycloak as keycloakResponses } from '../../../tests/support/identity-providers/recorded/keycloak.ts';
import { logto } from '../../../tests/support/identity-providers/recorded/logto.ts';
import { okta as oktaResponses } from '../../../tests/support/identity-providers/recorded/okta.ts';
import { onelogin } from '../../../tests/support/identity-providers/recorded/onelogin.ts';
import { ping } from '../../../tests/support/identity-providers/recorded/ping.ts';
import type { RecordedProvider } from '../../../tests/support/identity-providers/recorded/recorded-provider.ts';
import {
  type RecordedIdentityProvider,
  startRecorded,
} from '../../../tests/support/identity-providers/recorded/serve.ts';
import { slack as slackResponses } from '../../../tests/support/identity-providers/recorded/slack.ts';
import { zitadel } from '../../../tests/support/identity-providers/recorded/zitadel.ts';
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
  redeemAt,
  setFederationScene,
  startFederatedLogin,
  startProvider,
  until,
} from './federation-scene.ts';
import { claimsOf } from './server-under-test.ts';
import { requestOf } from './visitor.ts';

interface ProviderCase {
  readonly options: IdentityProviderOptions;
  readonly recorded: RecordedProvider;
  /** The request by which this server learns that a token was revoked. */
  readonly checkedBy: 'introspection' | 'userinfo' | 'refresh';
  /** Whether the check names the user. */
  readonly namesUser: boolean;
}

const client = { clientId: 'portcullis', clientSecret: 'secret' };

/** A provider without a preset, as docs/identity-providers.md configures it: by its issuer. */
function byIssuer(
  name: string,
  issuer: string,
  changes: Partial<IdentityProviderOptions> = {},
): IdentityProviderOptions {
  const scopes = ['openid', 'profile', 'offline_access'];
  return { id: name.toLowerCase(), name, ...client, scopes, kind: { issuer }, ...changes };
}

/** The private key of a team at Apple. */
const appleKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

const { clientSecret: _none, ...appleOptions } = byIssuer('Apple', 'https://appleid.apple.com', {
  scopes: ['openid'],
  clientKey: {
    key: appleKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    id: 'ABC123DEFG',
    signer: 'TEAM123456',
  },
  clientAuthentication: 'signed_secret',
  status: 'expiry',
});

const cases: readonly ProviderCase[] = [
  { options: google(client), recorded: googleResponses, checkedBy: 'userinfo', namesUser: true },
  {
    options: microsoftEntra('8eaef023-2b34-4da1-9baa-8bc8c9d6a490', client),
    recorded: entra,
    checkedBy: 'refresh',
    namesUser: false,
  },
  {
    options: okta('example.okta.com', client, 'default'),
    recorded: oktaResponses,
    checkedBy: 'introspection',
    namesUser: true,
  },
  {
    options: auth0('example.eu.auth0.com', client),
    recorded: auth0Responses,
    checkedBy: 'userinfo',
    namesUser: true,
  },
  {
    options: keycloak('https://sso.example', 'staff', client),
    recorded: keycloakResponses,
    checkedBy: 'introspection',
    namesUser: true,
  },
  { options: github(client), recorded: githubResponses, checkedBy: 'userinfo', namesUser: true },
  { options: gitlab(client), recorded: gitlabResponses, checkedBy: 'introspection', namesUser: false },
  { options: slack(client), recorded: slackResponses, checkedBy: 'userinfo', namesUser: true },
  { options: appleOptions, recorded: apple, checkedBy: 'refresh', namesUser: false },
  {
    options: byIssuer('Cognito', 'https://cognito.example/us-east-1_EXAMPLE', {
      scopes: ['openid', 'profile'],
    }),
    recorded: cognito,
    checkedBy: 'userinfo',
    namesUser: true,
  },
  {
    options: byIssuer('Ping', 'https://auth.example/4d6bb1a1/as'),
    recorded: ping,
    checkedBy: 'introspection',
    namesUser: true,
  },
  {
    options: byIssuer('OneLogin', 'https://example.onelogin.com/oidc/2'),
    recorded: onelogin,
    checkedBy: 'introspection',
    namesUser: true,
  },
  {
    options: byIssuer('Zitadel', 'https://zitadel.example'),
    recorded: zitadel,
    checkedBy: 'introspection',
    namesUser: true,
  },
  {
    options: byIssuer('Authentik', 'https://sso.example/application/o/tools/'),
    recorded: authentik,
    checkedBy: 'introspection',
    namesUser: true,
  },
  {
    options: byIssuer('Logto', 'https://example.logto.app/oidc'),
    recorded: logto,
    checkedBy: 'introspection',
    namesUser: true,
  },
];

/** The options, with the origins of all endpoints replaced by that of the recorded provider. */
function movedTo(
  { origin, client: { id, secret } }: RecordedIdentityProvider,
  options: IdentityProviderOptions,
): IdentityProviderOptions {
  const kind = JSON.stringify(options.kind).replaceAll(/https:\/\/[^/"]+/g, origin);
  return {
    ...options,
    clientId: id,
    ...(options.clientSecret !== undefined && { clientSecret: secret }),
    kind: JSON.parse(kind) as IdentityProviderOptions['kind'],
  };
}

interface ProviderScene {
  readonly t: FederationScene;
  readonly provider: RecordedIdentityProvider;
}

async function setProviderScene({ options, recorded }: ProviderCase): Promise<ProviderScene> {
  const provider = await startProvider(() => startRecorded(recorded), options.id);
  return { provider, t: await setFederationScene([movedTo(provider, options)]) };
}

interface SignedIn extends ProviderScene {
  readonly claims: AccessTokenClaims & { readonly grant_id: string };
  readonly refreshToken: string;
  readonly isLive: () => Promise<boolean>;
}

async function signIn(one: ProviderCase): Promise<SignedIn> {
  const scene = await setProviderScene(one);
  const { body } = await redeemAt(scene.t, await logInByProvider(scene.t.visitor));
  const claims = claimsOf(String(body['access_token'])) as never as SignedIn['claims'];
  const refreshToken = String(body['refresh_token']);
  return { ...scene, claims, refreshToken, isLive: () => scene.t.server.isLive(claims) };
}

/** Seconds until the next check, or the expiry where there is none. */
function untilNextCheck({ checkedBy, recorded }: ProviderCase): number {
  return checkedBy === 'refresh' ? lifetimeOf(recorded) : 60;
}

function lifetimeOf({ token: { body } }: RecordedProvider): number {
  const tokens = (body?.['authed_user'] ?? body) as { readonly expires_in: number };
  return tokens.expires_in;
}

const endOf = ({ events }: FederationScene) => events.find(({ type }) => type === 'provider_token.ended');

const requestsTo = ({ requests }: RecordedIdentityProvider, name: string) =>
  requests.filter(({ endpoint }) => endpoint === name);

describe.each(cases.map((one) => ({ ...one, name: one.options.name })))('$name, as documented', (one) => {
  const { recorded, checkedBy, namesUser } = one;

  it('[GW-3P-2] signs users in, and passes on that one declines', async () => {
    const { t, provider } = await setProviderScene(one);
    provider.declines = true;
    const declined = await logInByProvider(t.visitor);
    expect(declined.left?.searchParams.get('error')).toBe('access_denied');
    expect(provider.requests).toEqual([]);
    provider.declines = false;
    const { status, body } = await redeemAt(t, await logInByProvider(t.visitor));
    expect(status).toBe(200);
    expect(requestsTo(provider, 'token')).toHaveLength(1);
    expect(requestsTo(provider, 'token')[0]?.parameters).toMatchObject({ grant_type: 'authorization_code' });
    expect(String(body['access_token'])).not.toBe('');
  });

  it('[GW-3P-10] is refreshed ahead of time, each time with the refresh token that is valid', async () => {
    const { t, provider, isLive } = await signIn(one);
    for (let refreshes = 1; refreshes <= 2; refreshes += 1) {
      const { refreshToken } = provider;
      t.clock.now += lifetimeOf(recorded) - 30;
      expect(await isLive()).toBe(true);
      const sent = requestsTo(provider, 'refresh');
      expect(sent).toHaveLength(refreshes);
      expect(sent.at(-1)?.parameters['refresh_token']).toBe(refreshToken);
    }
    expect(endOf(t)).toBeUndefined();
  });

  it('[GW-3P-10] ends a grant that was revoked there', async () => {
    const { t, provider, isLive } = await signIn(one);
    t.clock.now += untilNextCheck(one);
    expect(await isLive()).toBe(true);
    expect(requestsTo(provider, checkedBy).length).toBeGreaterThan(0);
    provider.respond('introspection', recorded.introspection?.inactive ?? null);
    provider.respond('userinfo', recorded.userinfo?.refused ?? null);
    provider.respond('refresh', recorded.refreshRefused);
    t.clock.now += untilNextCheck(one);
    expect(await isLive()).toBe(false);
    expect(endOf(t)).toMatchObject({ reason: 'revoked_by_provider' });
  });

  it('[GW-3P-10] ends a grant whose refresh is refused', async () => {
    const { t, provider, isLive } = await signIn(one);
    provider.respond('refresh', recorded.refreshRefused);
    t.clock.now += lifetimeOf(recorded);
    expect(await isLive()).toBe(false);
    expect(endOf(t)).toMatchObject({ reason: 'revoked_by_provider' });
  });

  it('[GW-3P-11] receives the revocation request that it documents', async () => {
    const { t, provider, refreshToken } = await signIn(one);
    await t.post('/revoke', { token: refreshToken, client_id: 'web', client_secret: 'web-secret' });
    const finished = () => t.events.find(({ type }) => type === 'provider_token.revocation_finished');
    await until(() => finished() !== undefined);
    expect(finished()).toMatchObject({ outcome: recorded.revocation === null ? 'unsupported' : 'revoked' });
    const [sent, ...more] = requestsTo(provider, 'revocation');
    expect(more).toEqual([]);
    expect(sent).toEqual(
      recorded.revocation === null ? undefined : expectedRevocation(recorded.revocation.request, provider),
    );
  });

  it('asks for a new sign-in by the documented prompt', async () => {
    const { t } = await setProviderScene(one);
    const { left } = await startFederatedLogin(t.visitor, requestOf({ max_age: '60' }));
    expect(left?.searchParams.get('prompt')).toBe(recorded.loginPrompt?.value ?? null);
  });

  it('[GW-3P-10] ends nothing while it is unavailable', async () => {
    const { t, provider, claims, isLive } = await signIn(one);
    const tokens = async () => {
      const found = await t.store.findProviderTokens(claims.grant_id);
      // A failed refresh postpones the next one, and tokens in use are due for revocation later than unused ones.
      return { ...found, leaseUntil: null, leaseHolder: null, dueAt: null };
    };
    const before = await tokens();
    const store = t.snapshot();
    t.clock.now += untilNextCheck(one);
    provider.respond(checkedBy, recorded.unavailable);
    const retryAfter = recorded.unavailable.headers?.['retry-after'];
    await expect(isLive()).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      ...(retryAfter !== undefined && { retryAfter: Number(retryAfter) }),
    });
    expect(await tokens()).toEqual(before);
    if (checkedBy !== 'refresh') expect(t.snapshot()).toBe(store);
    expect(endOf(t)).toBeUndefined();
    provider.respond(checkedBy, null);
    t.clock.now += 60;
    expect(await isLive()).toBe(true);
  });

  it('[GW-3P-10] ends the grant if its token is of another user', async () => {
    const { t, provider, isLive } = await signIn(one);
    provider.subject = recorded.subjects[1];
    t.clock.now += untilNextCheck(one);
    expect(await isLive()).toBe(!namesUser);
    if (namesUser) expect(endOf(t)).toMatchObject({ reason: 'changed_by_provider' });
    else expect(endOf(t)).toBeUndefined();
  });
});

describe('a response of Slack to a revocation, whose status is always 200', () => {
  const slackCase = cases.find(({ recorded }) => recorded === slackResponses);

  it.each([
    { error: 'token_revoked', isRevoked: true },
    { error: 'internal_error', isRevoked: false },
  ])('[GW-3P-11] that says $error counts as revoked: $isRevoked', async ({ error, isRevoked }) => {
    if (slackCase === undefined) throw new Error('there is no such case');
    const { t, provider, claims, refreshToken } = await signIn(slackCase);
    provider.respond('revocation', { page: '', body: { ok: false, error } });
    await t.post('/revoke', { token: refreshToken, client_id: 'web', client_secret: 'web-secret' });
    await until(() => requestsTo(provider, 'revocation').length > 0);
    // It ends the job first.
    await t.server.close();
    const tokens = await t.store.findProviderTokens(claims.grant_id);
    expect(tokens?.encryptedTokens === null).toBe(isRevoked);
    const isFinished = t.events.some(({ type }) => type === 'provider_token.revocation_finished');
    expect(isFinished).toBe(isRevoked);
  });
});

type Revocation = NonNullable<RecordedProvider['revocation']>['request'];

function expectedRevocation({ method, path, parameters }: Revocation, provider: RecordedIdentityProvider) {
  const issued = new Map<unknown, unknown>([
    ['$accessToken', provider.accessToken],
    ['$refreshToken', provider.refreshToken],
  ]);
  const sent = Object.entries(parameters).map(([name, value]) => [name, issued.get(value) ?? value]);
  return expect.objectContaining({
    method,
    path,
    parameters: expect.objectContaining(Object.fromEntries(sent)),
  });
}
