/** Step-up authentication of users who sign in at identity providers: what their `auth_time`, `acr` and `amr` count for. */
import { describe, expect, it } from 'vitest';
import { startMisbehaving } from '../../../tests/support/identity-providers/misbehaving.ts';
import {
  logInByProvider,
  openCallback,
  openId,
  redeemAt,
  setFederationScene,
  signInAtProvider,
  startFederatedLogin,
  startProvider,
} from './federation-scene.ts';
import { claimsOf } from './server-under-test.ts';
import { requestOf } from './visitor.ts';

async function setProviderScene(
  claims: Readonly<Record<string, unknown>>,
  twoFactorValues?: string[],
  options: Parameters<typeof setFederationScene>[1] = {},
) {
  const provider = await startProvider(startMisbehaving, 'files');
  provider.lies = { claims };
  const t = await setFederationScene([openId(provider, twoFactorValues && { twoFactorValues })], options);
  return { ...t, provider };
}

const UNMET = 'unmet_authentication_requirements';

describe('acr and amr of an identity provider', () => {
  it.each([
    ['its amr', { amr: ['pwd', 'mfa'] }],
    ['its acr', { acr: 'mfa' }],
  ])('%s meets 2fa where the configuration says so, and the token too', async (_what, claims) => {
    const t = await setProviderScene(claims, ['mfa']);
    const end = await logInByProvider(t.visitor, requestOf({ acr_values: '2fa' }));
    const { body } = await redeemAt(t, end);
    expect(claimsOf(body['access_token'])).toMatchObject({ acr: '2fa', amr: ['fed', 'mfa'] });
    // The session keeps it: a second request needs no other sign-in.
    const again = await t.visitor.open(requestOf({ acr_values: '2fa' }));
    expect(again.path).toMatch(/^\/consent/);
  });

  it.each<[string, object, string[] | undefined]>([
    ['without a configured value', { amr: ['mfa'], acr: '2fa' }, undefined],
    ['with other values only', { amr: ['pwd'], acr: 'bronze' }, ['mfa']],
    ['with an amr that is no list', { amr: 'mfa' }, ['mfa']],
  ])('%s a federated login is one factor, and 2fa is unmet', async (_what, claims, values) => {
    const t = await setProviderScene({ ...claims }, values);
    const end = await logInByProvider(t.visitor, requestOf({ acr_values: '2fa' }));
    expect(end.left?.searchParams.get('error')).toBe(UNMET);
    expect(end.left?.searchParams.get('error_description')).toContain('at the identity provider');
    expect(end.left?.searchParams.has('code')).toBe(false);
    const { body } = await redeemAt(t, await logInByProvider(t.visitor));
    expect(claimsOf(body['access_token'])).toMatchObject({ acr: '1fa', amr: ['fed'] });
  });
});

describe('the time of a sign-in at an identity provider', () => {
  it('the token states the auth_time of the provider, whose session may be older than the login here', async () => {
    const past = Math.floor(Date.now() / 1000) - 30_000;
    const t = await setProviderScene({ auth_time: past });
    const { body } = await redeemAt(t, await logInByProvider(t.visitor));
    expect(claimsOf(body['access_token'])).toMatchObject({ auth_time: past });
  });

  it.each([
    ['in the future', 9_999_999_999],
    ['that is missing', undefined],
  ])('an auth_time %s is replaced by the time of the login here', async (_what, auth_time) => {
    const t = await setProviderScene({ auth_time });
    const { body } = await redeemAt(t, await logInByProvider(t.visitor));
    expect(claimsOf(body['access_token'])).toMatchObject({ auth_time: t.clock.now });
  });

  it('the token states it as well when the user picks a workspace after the login', async () => {
    const past = Math.floor(Date.now() / 1000) - 30_000;
    const workspaces = async () => ['red', 'blue'].map((id) => ({ id, name: id }));
    const t = await setProviderScene({ auth_time: past }, undefined, { workspaces });
    const asked = await logInByProvider(t.visitor);
    const { body } = await redeemAt(
      t,
      await t.visitor.submit(asked, { decision: 'allow', workspace: 'red' }),
    );
    expect(claimsOf(body['access_token'])).toMatchObject({ auth_time: past, workspace: 'red' });
  });

  it('max_age counts from it, and not from the login here', async () => {
    const now = Math.floor(Date.now() / 1000);
    const t = await setProviderScene({ auth_time: now - 30_000 });
    await logInByProvider(t.visitor);
    const promptFor = async (max_age: string) =>
      (await startFederatedLogin(t.visitor, requestOf({ max_age }))).left?.searchParams.get('prompt');
    expect(await promptFor('60')).toBe('login consent');
    expect(await promptFor('40000')).not.toContain('login');
  });

  it('max_age asks the provider to sign the user in again, whose session there may be older', async () => {
    const t = await setProviderScene({});
    const { left } = await startFederatedLogin(t.visitor, requestOf({ max_age: '60' }));
    expect(left?.searchParams.get('prompt')).toBe('login consent');
    const end = await openCallback(t.visitor, await signInAtProvider(t.visitor, left));
    expect(end.left?.searchParams.get('code')).toBeTruthy();
  });
});
