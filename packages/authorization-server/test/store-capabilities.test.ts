/** A server on a store without optional capabilities: what it serves, and what startup rejects. */

import { afterEach, describe, expect, it } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { type AuthorizationServer, createAuthorizationServer } from '../src/index.ts';
import type { OptionsForStore } from '../src/options.ts';
import { completeStore, readCapabilities } from '../src/store/capabilities.ts';
import type { AuthorizationStore, CoreStore } from '../src/store/index.ts';

const ISSUER = 'https://as.example';
const RESOURCE = 'https://mcp.example/mcp';

/** Every method that a store has to implement. */
const coreMethods = {
  saveClient: true,
  findClient: true,
  listClients: true,
  updateClient: true,
  rotateClientSecret: true,
  recordClientUse: true,
  disableClient: true,
  enableClient: true,
  saveClientVerification: true,
  removeClient: true,
  consumeClientAssertion: true,
  openTransaction: true,
  countAnonymousTransactions: true,
  countAnonymousTransactionsByNetwork: true,
  findTransaction: true,
  setTransactionAccount: true,
  completeTransaction: true,
  issueCode: true,
  findCode: true,
  redeemCode: true,
  invalidateCode: true,
  findGrant: true,
  rotateRefreshToken: true,
  listGrants: true,
  listGrantsOfClient: true,
  hasClientGrants: true,
  revokeSurplusGrants: true,
  findNewestConsent: true,
  listConsents: true,
  revokeAccountGrants: true,
  revokeGrant: true,
  listRevokedGrants: true,
  revokeAccessToken: true,
  isAccessTokenLive: true,
  listSigningKeys: true,
  addSigningKey: true,
  removeSigningKeys: true,
  reencryptSigningKeys: true,
  chargeRateLimit: true,
  ping: true,
  checkWritable: true,
  readClock: true,
  sweep: true,
  close: true,
} as const satisfies Readonly<Record<keyof CoreStore, true>>;

let opened: AuthorizationStore | undefined;
afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

/** A store that implements the core and nothing else. */
async function openCoreStore(): Promise<CoreStore> {
  opened = await openEmptyStore();
  const methods = Object.entries(opened).filter(([name]) => name in coreMethods);
  return Object.fromEntries(methods) as unknown as CoreStore;
}

const common = {
  issuer: ISSUER,
  masterKey: new Uint8Array(32).fill(7),
  resources: [{ resource: RESOURCE, name: 'Notes', scopes: { 'notes:read': 'Read your notes' } }],
  clients: [
    {
      client_id: 'batch',
      client_secret: 'a secret of the batch client',
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'client_secret_basic',
      scope: 'notes:read',
    },
  ],
} as const;

/** What a server without users, federation, registration and audit log has to switch off. */
const coreOnly = {
  ...common,
  localAccounts: false,
  registration: false,
  metadataDocuments: false,
  auditRetention: false,
} as const;

const get = (server: AuthorizationServer, path: string) => server.handle(new Request(`${ISSUER}${path}`));

async function requestToken(server: AuthorizationServer): Promise<Response> {
  return server.handle(
    new Request(`${ISSUER}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa('batch:a+secret+of+the+batch+client')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        scope: 'notes:read',
        resource: RESOURCE,
      }).toString(),
    }),
  );
}

describe('a server on a store that implements only the core', () => {
  it('a core store serves client credentials with at most 45 methods', async () => {
    expect(Object.keys(coreMethods).length).toBeLessThanOrEqual(45);
    const store = await openCoreStore();
    expect([...readCapabilities(store)]).toEqual([]);
    const server = await createAuthorizationServer({ ...coreOnly, store });
    const response = await requestToken(server);
    expect([response.status, ((await response.json()) as { scope: string }).scope]).toEqual([
      200,
      'notes:read',
    ]);
    await server.close();
  });

  it('a core store revokes and introspects access tokens', async () => {
    const server = await createAuthorizationServer({ ...coreOnly, store: await openCoreStore() });
    const { access_token: token } = (await (await requestToken(server)).json()) as { access_token: string };
    const send = (path: string) =>
      server.handle(
        new Request(`${ISSUER}${path}`, {
          method: 'POST',
          headers: {
            authorization: `Basic ${btoa('batch:a+secret+of+the+batch+client')}`,
            'content-type': 'application/x-www-form-urlencoded',
          },
          body: new URLSearchParams({ token }).toString(),
        }),
      );
    expect((await send('/revoke')).status).toBe(200);
    expect(await (await send('/introspect')).json()).toEqual({ active: false });
    await server.close();
  });

  it('a core store has no authorization endpoint and no pages, and the metadata says so', async () => {
    const server = await createAuthorizationServer({ ...coreOnly, store: await openCoreStore() });
    for (const path of [
      '/authorize',
      '/login',
      '/consent',
      '/account',
      '/connections',
      '/register',
      '/setup',
    ]) {
      expect([path, (await get(server, path)).status]).toEqual([path, 404]);
    }
    const metadata = (await (await get(server, '/.well-known/oauth-authorization-server')).json()) as object;
    expect(metadata).toMatchObject({
      grant_types_supported: ['client_credentials'],
      token_endpoint: `${ISSUER}/token`,
      client_id_metadata_document_supported: false,
    });
    expect(metadata).not.toHaveProperty('authorization_endpoint');
    expect(metadata).not.toHaveProperty('registration_endpoint');
    expect(await server.setupLink()).toBeNull();
    await server.close();
  });

  it('startup rejects every option that needs a missing store capability, in one error', async () => {
    const store = await openCoreStore();
    const options = {
      ...common,
      identityProviders: [
        {
          id: 'sso',
          name: 'SSO',
          clientId: 'us',
          clientSecret: 'secret',
          scopes: ['openid'],
          kind: { issuer: 'https://sso.example' },
        },
      ],
      store,
    };
    const rejected = createAuthorizationServer(options as unknown as OptionsForStore<AuthorizationStore>);
    const message = await rejected.then(String, (error: Error) => error.message);
    expect(message).toContain('localAccounts needs a store with users: this one lacks hasLocalAccounts, ');
    expect(message).toContain('localAccounts needs a store with mfa: ');
    expect(message).toContain('identityProviders needs a store with federation: ');
    expect(message).toContain('registration needs a store with registration: ');
    expect(message).toContain('metadataDocuments needs a store with registration: ');
    expect(message).toContain('auditRetention needs a store with audit: ');
  });

  it('options that need a missing store capability are a type error', async () => {
    const store = await openCoreStore();
    const backends = { of: () => [], find: () => undefined };
    // @ts-expect-error Without users, local accounts have to be switched off.
    const withAccounts: OptionsForStore<CoreStore> = { ...coreOnly, localAccounts: true, store };
    // @ts-expect-error Without an audit log, events cannot be retained.
    const withAudit: OptionsForStore<CoreStore> = { ...coreOnly, auditRetention: 60, store };
    // @ts-expect-error Without federation there are no identity providers.
    const withProviders: OptionsForStore<CoreStore> = { ...coreOnly, identityProviders: [{}], store };
    // @ts-expect-error Without a store for them there are no connected accounts.
    const withBackends: OptionsForStore<CoreStore> = { ...coreOnly, backends, store };
    expect([withAccounts, withAudit, withProviders, withBackends]).toHaveLength(4);
  });
});

describe('the capabilities of a store', () => {
  it('a store has a capability if it implements every method of it', async () => {
    opened = await openEmptyStore();
    expect([...readCapabilities(opened)].toSorted()).toEqual(
      [
        'approvals',
        'audit',
        'connectedAccounts',
        'deviceAuthorizations',
        'federation',
        'managedGrants',
        'mfa',
        'personalAccessTokens',
        'provisioning',
        'registration',
        'users',
      ].toSorted(),
    );
    const { listEvents: _, ...partial } = opened;
    expect(readCapabilities(partial).has('audit')).toBe(false);
    expect(completeStore(opened)).toBe(opened);
  });

  it('a missing store capability reads as empty tables and rejects writes', async () => {
    const store = completeStore(await openCoreStore());
    expect(await store.findAccount('user_ada')).toBeNull();
    expect(await store.listDataKeys()).toEqual([]);
    await expect(store.appendEvents([])).rejects.toThrow('The store has no audit: it lacks appendEvents.');
    // The core is the store's own.
    expect(await store.listSigningKeys()).toEqual([]);
  });
});
