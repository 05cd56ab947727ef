/** Tokens of connected accounts as the gateway asks for them: those of earlier versions, about to expire, expired, of a removed backend. */
import { describe, expect, it } from 'vitest';
import { newConnectedAccount } from '../../store/testing/federation-samples.ts';
import { createBackendRegistrations } from '../src/connected-accounts/connection-requests.ts';
import { createEncryptor, dataKeyContext } from '../src/encryption/encryptor.ts';
import { createTokenVault } from '../src/federation/token-vault.ts';
import { type BackendTokenSet, IdentityProviderError, type UserBackend } from '../src/index.ts';
import { createServerContext } from '../src/server.ts';
import {
  ACCOUNT,
  claimsOf,
  ISSUER,
  MASTER_KEY,
  NOTES,
  redemption,
  startServer,
} from './server-under-test.ts';
import {
  PASSWORD,
  requestOf,
  type Scene,
  type Sight,
  setScene as setVisitorScene,
  VERIFIER,
} from './visitor.ts';

const KEY = { grantId: 'grant_1', backend: '/hub' };
const TOKENS: BackendTokenSet = {
  accessToken: 'access',
  tokenType: 'Bearer',
  refreshToken: 'refresh',
  session: { of: 'the client' },
};

const outage = async () => {
  throw new IdentityProviderError('outage', 'not reachable', { retryAfter: 30 });
};

/** A server whose user has connected an account at one backend, with tokens encrypted as version 0.1.0 did. */
async function setScene(backend: Partial<UserBackend> = {}, isConfigured = true) {
  const hub: UserBackend = {
    id: KEY.backend,
    name: 'Hub',
    host: 'hub.example',
    hasConfiguredClient: false,
    begin: outage,
    complete: outage,
    isIssuerOf: () => true,
    refresh: outage,
    revoke: async () => 'revoked',
    clientDocument: () => ({}),
    ...backend,
  };
  const find = (id: string) => (isConfigured && id === hub.id ? hub : undefined);
  const t = await startServer({ backends: { of: () => [], find } });
  const [dataKey] = await t.store.listDataKeys();
  if (dataKey === undefined) throw new Error('there is no data key');
  const master = createEncryptor(MASTER_KEY, []);
  const encryptor = createEncryptor(master.decrypt(dataKey.encryptedKey, dataKeyContext(dataKey.id)), []);
  const encrypt = (content: object, context: string) =>
    new Uint8Array(encryptor.encrypt(Buffer.from(JSON.stringify(content)), context));
  const account = newConnectedAccount({
    ...KEY,
    encryptedTokens: encrypt(TOKENS, 'provider tokens grant_1 /hub'),
    dataKeyId: dataKey.id,
    checkedAt: t.clock.now,
    expiresAt: t.clock.now + 3600,
    refreshFrom: t.clock.now + 3540,
  });
  await t.store.saveEndedConnectedAccount(account);
  const lookUp = () => t.server.connectedAccounts.find(KEY.grantId, KEY.backend);
  return { t, account, encrypt, lookUp };
}

describe('the tokens of a connected account', () => {
  it('are found as an earlier version encrypted them, and only for their grant and backend', async () => {
    const { t, account, lookUp } = await setScene();
    expect(await lookUp()).toMatchObject({ tokens: TOKENS, until: account.refreshFrom });
    expect(await t.server.connectedAccounts.find('grant_2', KEY.backend)).toBeNull();
    expect(await t.server.connectedAccounts.find(KEY.grantId, '/other')).toBeNull();
  });

  it('come from registrations that an earlier version encrypted, for all clients or one', async () => {
    const { t, account, encrypt } = await setScene();
    const context = createServerContext({
      issuer: ISSUER,
      masterKey: MASTER_KEY,
      store: t.store,
      resources: [{ resource: NOTES, name: 'Notes', scopes: {} }],
    });
    const vault = createTokenVault(context);
    const issuer = 'https://as.hub.example';
    const save = (clientId: string | null, text: string) =>
      t.store.saveBackendRegistration({
        ...{ backend: KEY.backend, clientId, issuer, createdAt: t.clock.now, dataKeyId: account.dataKeyId },
        encryptedRegistration: encrypt({ clientId }, text),
      });
    await save(null, 'backend registration /hub https://as.hub.example');
    await save('app 1', 'backend registration /hub app 1 https://as.hub.example');
    for (const [hasConfiguredClient, clientId] of [
      [true, null],
      [false, 'app 1'],
    ] as const) {
      const backend = { id: KEY.backend, hasConfiguredClient };
      const registrations = createBackendRegistrations(context, vault, backend, 'app 1');
      expect(await registrations.list()).toEqual([{ issuer, registration: { clientId } }]);
    }
  });

  it('decrypt for no other grant that they were moved to', async () => {
    const { t, account, lookUp } = await setScene();
    await t.store.saveEndedConnectedAccount({ ...account, grantId: 'grant_2' });
    await expect(t.server.connectedAccounts.find('grant_2', KEY.backend)).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    expect(await lookUp()).toMatchObject({ tokens: TOKENS });
  });

  it('are used for some seconds more when the backend is down before they expire, and not afterwards', async () => {
    const { t, account, lookUp } = await setScene();
    t.clock.now += 3550;
    expect(await lookUp()).toMatchObject({ tokens: TOKENS, until: t.clock.now + 5 });
    t.clock.now += 50;
    await expect(lookUp()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(await t.store.findConnectedAccount(KEY)).toMatchObject({
      endedAt: null,
      version: account.version,
    });
  });

  it('are refreshed before they expire, and stored before they are used', async () => {
    const tokens = { ...TOKENS, accessToken: 'next' };
    const { t, lookUp } = await setScene({
      refresh: async () => ({ tokens, scopes: ['more'], lifetime: 600 }),
    });
    t.clock.now += 3550;
    expect(await lookUp()).toMatchObject({ tokens, scopes: ['more'], version: 2, issuedAt: t.clock.now });
    expect(await t.store.findConnectedAccount(KEY)).toMatchObject({
      version: 2,
      expiresAt: t.clock.now + 600,
    });
  });

  it('end when their issuer refreshes only after its user has signed in again, so that the account can be connected again', async () => {
    const refused = new IdentityProviderError('refused', 'it responded', { code: 'interaction_required' });
    const { t, lookUp } = await setScene({ refresh: () => Promise.reject(refused) });
    expect(await lookUp()).toMatchObject({ tokens: TOKENS });
    t.clock.now += 3550;
    expect(await lookUp()).toBeNull();
    expect(await t.store.findConnectedAccount(KEY)).toMatchObject({ endReason: 'login_required' });
  });

  it('end when they have expired and cannot be refreshed', async () => {
    const { t, account, lookUp } = await setScene();
    await t.store.leaseConnectedAccount(account, 1, 'us', t.clock.now, t.clock.now + 9);
    await t.store.saveRefreshedConnectedAccount(account, 'us', {
      ...account,
      isRefreshable: false,
      refreshFrom: null,
    });
    t.clock.now += 3600;
    expect(await lookUp()).toBeNull();
    expect(await t.store.findConnectedAccount(KEY)).toMatchObject({
      endedAt: t.clock.now,
      endReason: 'expired_at_provider',
    });
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'provider_token.ended', ...KEY, reason: 'expired_at_provider' }),
    );
  });

  it('are not used and not revoked while their backend is not configured', async () => {
    const { t, account, lookUp } = await setScene({}, false);
    expect(await lookUp()).toBeNull();
    expect(await t.server.connectedAccounts.replace(KEY.grantId, KEY.backend, 1)).toBeNull();
    expect(await t.store.findConnectedAccount(KEY)).toEqual(account);
  });

  it.each([
    ['while they are valid', 0],
    ['when they are about to expire', 3550],
    ['when they have expired', 3700],
  ])(
    'are neither used nor refreshed nor ended while another server is configured at their path, %s',
    async (_when, seconds) => {
      let isSame = false;
      let refreshes = 0;
      const { t, account, lookUp } = await setScene({
        isIssuerOf: () => isSame,
        refresh: async () => {
          refreshes += 1;
          return { tokens: TOKENS, scopes: [], lifetime: 600 };
        },
      });
      t.clock.now += seconds;
      expect(await lookUp()).toBeNull();
      expect(await t.server.connectedAccounts.replace(KEY.grantId, KEY.backend, 1)).toBeNull();
      expect(await t.store.findConnectedAccount(KEY)).toEqual(account);
      expect(refreshes).toBe(0);
      isSame = true;
      expect(await lookUp()).toMatchObject({ tokens: TOKENS });
    },
  );

  it('are not used when another server is configured at their path during their refresh, and are stored', async () => {
    let isSame = true;
    const tokens = { ...TOKENS, accessToken: 'next' };
    const { t, lookUp } = await setScene({
      isIssuerOf: () => isSame,
      refresh: async () => {
        isSame = false;
        return { tokens, scopes: [], lifetime: 600 };
      },
    });
    t.clock.now += 3550;
    expect(await lookUp()).toBeNull();
    isSame = true;
    expect(await lookUp()).toMatchObject({ tokens, version: 2 });
  });
});

describe('accounts that are connected in a transaction', () => {
  const EMAIL_OF_BOB = 'bob@example.org';

  it('a user who signed in in another tab connects accounts although the user before had connected one', async () => {
    const states: string[] = [];
    const backends = ['/one', '/two'].map(
      (id): UserBackend => ({
        id,
        name: id,
        host: 'hub.example',
        hasConfiguredClient: true,
        async begin() {
          const state = `state ${states.length}`;
          states.push(state);
          return { url: `https://hub.example${id}`, state, secrets: {} };
        },
        complete: async () => ({ tokens: TOKENS, scopes: [], lifetime: 3600 }),
        isIssuerOf: () => true,
        refresh: outage,
        revoke: async () => 'revoked',
        clientDocument: () => ({}),
      }),
    );
    const find = (id: string) => backends.find((backend) => backend.id === id);
    const t = await setVisitorScene({ backends: { of: () => backends, find } });
    const { visitor } = t;
    await createBob(t);
    /** Returns from the backend to which the browser was redirected. */
    const complete = ({ left }: Sight) => {
      const query = new URLSearchParams({ code: 'code', state: states.at(-1) ?? '' });
      return visitor.open(`/connect/callback${left?.pathname}?${query}`);
    };
    const consent = await visitor.signIn(requestOf());
    const second = await complete(await visitor.submit(consent, { decision: 'allow' }));
    expect(second.left?.pathname).toBe('/two');

    await visitor.submit(await visitor.open('/logout'), {}, '/logout');
    const fields = { email: EMAIL_OF_BOB, password: PASSWORD };
    expect((await visitor.submit(await visitor.open('/login?to=account'), fields)).path).toBe('/account');
    const own = await visitor.open(consent.path);
    const first = await visitor.submit(own, { decision: 'allow' });
    expect(first.left?.pathname).toBe('/one');
    const end = await complete(await complete(first));
    const code = end.left?.searchParams.get('code') ?? '';
    const form = { ...redemption(code, VERIFIER, 'web'), client_secret: 'web-secret' };
    const { sub, grant_id: grantId } = claimsOf((await t.post('/token', form)).body['access_token']);
    const accounts = await t.store.listConnectedAccounts(String(grantId));
    expect(accounts.map(({ backend, accountId }) => [backend, accountId])).toEqual([
      ['/one', sub],
      ['/two', sub],
    ]);
    expect(sub).not.toBe(ACCOUNT);
  });

  async function createBob(t: Scene): Promise<void> {
    const invited = await t.server.accounts.add(EMAIL_OF_BOB);
    const { pathname, search } = new URL('link' in invited ? invited.link : '');
    const bob = t.newVisitor('203.0.113.5');
    const form = await bob.open(`${pathname}${search}`);
    await bob.submit(form, { password: PASSWORD, password_again: PASSWORD });
  }
});
