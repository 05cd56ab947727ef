/** Options: validated once at startup, with every issue in one error that names the path. */
import { openStore } from '@portcullis/store';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type AuthorizationServerOptions,
  ConfigurationError,
  createAuthorizationServer,
} from '../src/index.ts';
import { CALLBACK, CLIENTS, ISSUER, MASTER_KEY, NOTES, RESOURCES } from './server-under-test.ts';

const store = await openStore(':memory:');
afterAll(() => store.close());
const good: AuthorizationServerOptions = {
  issuer: ISSUER,
  store,
  masterKey: MASTER_KEY,
  resources: RESOURCES,
  clients: CLIENTS,
};

async function issuesOf(options: Partial<AuthorizationServerOptions>): Promise<readonly string[]> {
  const error: unknown = await createAuthorizationServer({ ...good, ...options }).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error === null) return [];
  if (!(error instanceof ConfigurationError)) throw error;
  return error.issues;
}

const IDENTITY_PROVIDER = {
  id: 'example',
  name: 'Example',
  clientId: 'us',
  scopes: ['openid'],
  kind: { issuer: 'https://id.example' },
};
const notes = { resource: NOTES, name: 'Notes', scopes: { 'notes:read': 'Read your notes' } };
const client = { client_id: 'c', redirect_uris: [CALLBACK] };

describe('the options of an authorization server', () => {
  it('accepts valid options', async () => {
    expect(await issuesOf({})).toEqual([]);
    expect(await issuesOf({ issuer: 'http://localhost:8484' })).toEqual([]);
    expect(await issuesOf({ issuer: 'https://as.example/tenant' })).toEqual([]);
  });

  it.each<[string, Partial<AuthorizationServerOptions>, RegExp]>([
    ['[AS-HTTPS-1] a plain http issuer', { issuer: 'http://as.example' }, /^issuer must use https/],
    ['[AS-META-60] an issuer with a query', { issuer: 'https://as.example?x' }, /^issuer must have no query/],
    ['[AS-META-60] an issuer with a fragment', { issuer: 'https://as.example#x' }, /^issuer must have no query and no fragment/],
    ['no issuer', { issuer: '' }, /^issuer must not be empty/],
    ['a short master key', { masterKey: new Uint8Array(31) }, /^masterKey must be 32 bytes/],
    ['[AS-TTL-3] tokens with a lifetime of zero', { lifetimes: { accessToken: 0 } }, /^lifetimes\.accessToken must/],
    ['[AS-TTL-3] tokens with an infinite lifetime', { lifetimes: { grant: Number.POSITIVE_INFINITY } }, /^lifetimes\.grant must/],
    ['fractions of a second', { lifetimes: { refreshGrace: 0.5 } }, /^lifetimes\.refreshGrace must/],
    ['no resource', { resources: [] }, /^resources must have at least one/],
    ['a resource that is not canonical', { resources: [{ ...notes, resource: 'https://MCP.example/' }] }, /^resources\.0\.resource must be a canonical/],
    ['a negative revocationDelay', { resources: [{ ...notes, revocationDelay: -1 }] }, /^resources\.0\.revocationDelay must be a whole number of seconds/],
    ['a duplicate resource', { resources: [notes, notes] }, /^resources\.1\.resource: duplicate resource "/],
    ['an invalid scope', { resources: [{ ...notes, scopes: { 'a b': 'A' } }] }, /^resources\.0\.scopes: invalid scope "a b"/],
    ['an unknown default scope', { resources: [{ ...notes, defaultScopes: ['x'] }] }, /^resources\.0\.defaultScopes: unknown scope "x"/],
    ['an unknown scope in the hierarchy', { resources: [{ ...notes, hierarchy: { 'notes:read': ['x'] } }] }, /^resources\.0\.hierarchy: unknown scope "x"/],
    ['an unknown introspecting client', { resources: [{ ...notes, introspectionClients: ['x'] }] }, /^resources\.0\.introspectionClients: "x"/],
    ['a public introspecting client', { resources: [{ ...notes, introspectionClients: ['desktop'] }] }, /^resources\.0\.introspectionClients: "desktop"/],
    ['a translation into another language', { resources: [{ ...notes, translations: { xx: { name: 'Cahiers' } } as object }] }, /^resources\.0\.translations\.xx: unknown key; /],
    ['a translation of an unknown scope', { resources: [{ ...notes, translations: { de: { scopes: { x: 'X' } } } }] }, /^resources\.0\.translations\.de\.scopes: unknown scope "x"/],
    ['an empty translation', { resources: [{ ...notes, translations: { de: { scopes: { 'notes:read': ' ' } } } }] }, /^resources\.0\.translations\.de\.scopes\.notes:read must not be empty/],
    ['a client without identifier', { clients: [{ redirect_uris: [CALLBACK] }] }, /^clients\.0\.client_id is required/],
    ['a client that is no object', { clients: [null] as never }, /^clients\.0 must be an object/],
    ['[AS-JWT-64] a client that looks like an account', { clients: [{ ...client, client_id: 'user_1' }] }, /^clients\.0\.client_id must not start with user_/],
    ['a client with a control character', { clients: [{ ...client, client_id: 'a\nb' }] }, /^clients\.0\.client_id must be printable/],
    ['a client with a scope that no resource has', { clients: [{ ...client, scope: 'notes:read notes:raed' }] }, /^clients\.0\.scope: unknown scope "notes:raed"/],
    ['a duplicate client', { clients: [client, client] }, /^clients\.1\.client_id: duplicate client c/],
    ['a secret that no method sends', { clients: [{ ...client, client_secret: 's', token_endpoint_auth_method: 'none' }] }, /^clients\.0\.client_secret goes with/],
    ['a method without its secret', { clients: [{ ...client, token_endpoint_auth_method: 'client_secret_basic' }] }, /^clients\.0\.client_secret goes with/],
    ['[AS-GRANT-3] a public client with client credentials', { clients: [{ client_id: 'c', grant_types: ['client_credentials'] }] }, /^clients\.0.*client_credentials needs/],
    ['[AS-REDIR-5] a client with a script as redirect URI', { clients: [{ ...client, redirect_uris: ['javascript:alert(1)'] }] }, /^clients\.0\.redirect_uris\.0/],
  ])('rejects %s, with an issue that names the path', async (_what, options, issue) => {
    const resources = options.clients === undefined ? {} : { resources: [notes] };
    expect(await issuesOf({ ...resources, ...options })).toEqual([expect.stringMatching(issue)]);
  }); // biome-ignore format: a table

  it.each<[Record<string, unknown>, readonly string[]]>([
    [{ lifetime: { code: 60 } }, ['lifetime: unknown option; did you mean lifetimes?']],
    [{ lifetimes: { accesToken: 60 }, keys: { rotateEvry: 1 } }, ['keys.rotateEvry: unknown key; did you mean rotateEvery?', 'lifetimes.accesToken: unknown key; did you mean accessToken?']],
    [{ resources: [{ ...notes, requireScopes: [] }] }, ['resources.0.requireScopes: unknown key; did you mean requiredScopes?']],
    [{ identityProviders: [{ ...IDENTITY_PROVIDER, alowedUsers: {}, allowedUsers: { subject: ['1'] } }] }, ['identityProviders.0.alowedUsers: unknown key; did you mean allowedUsers?', 'identityProviders.0.allowedUsers.subject: unknown key; did you mean subjects?']],
    [{ registration: { requireInitialAcessToken: true }, metadataDocuments: { host: ['a.example'] } }, ['registration.requireInitialAcessToken: unknown key; did you mean requireInitialAccessToken?', 'metadataDocuments.host: unknown key; did you mean hosts?']],
    [{ outbound: { allowLopback: true } }, ['outbound.allowLopback: unknown key; did you mean allowLoopback?']],
    [{ brand: { accents: {}, accent: { night: '#000000' }, links: [{ label: 'x', href: 'https://a.example', title: 'y' }] } }, ['brand.accents: unknown key; did you mean accent?', 'brand.accent.night: unknown key; did you mean light?', 'brand.links.0.title: unknown key; expected one of label, href']],
    [{ rateLimits: { signins: { burst: 1, perMinute: 1 }, refreshes: { burst: 1, perMinute: 1, perHour: 1 } } }, ['rateLimits.signins: unknown key; did you mean signIns?', 'rateLimits.refreshes.perHour: unknown key; expected one of burst, perMinute']],
  ])('rejects unknown options: %j', async (options, issues) => {
    const found = await issuesOf({ resources: [notes], clients: [], ...options } as never);
    expect(found).toEqual(expect.arrayContaining([...issues]));
    expect(found.filter((issue) => /: unknown (?:key|option); /.test(issue))).toHaveLength(issues.length);
    // Spelled correctly, the options are valid.
    expect(await issuesOf({ resources: [notes], clients: [], identityProviders: [IDENTITY_PROVIDER], lifetimes: { accessToken: 60 } })).toEqual([]);
  }); // biome-ignore format: a table

  it('reports bytes where an array or an object belongs, and freezes nothing that it was given', async () => {
    const previousMasterKeys = MASTER_KEY as unknown as readonly Uint8Array[];
    const scopes = new Uint8Array(1) as unknown as typeof notes.scopes;
    expect(await issuesOf({ previousMasterKeys, resources: [{ ...notes, scopes }] })).toEqual([
      'previousMasterKeys must be an array, each 32 bytes long',
      'resources.0.scopes must be an object, a sentence for each scope',
    ]);
    const profiles = [null, { revision: '2025-06-18' }] as unknown as [];
    expect(await issuesOf({ profiles })).toEqual([
      'profiles.0 must be a profile',
      'profiles.1 must be a profile',
    ]);
    expect(Object.isFrozen(profiles)).toBe(false);
    expect(await issuesOf({ previousMasterKeys: [MASTER_KEY] })).toEqual([]);
  });

  it('reports all issues of a client, and none that follows from another', async () => {
    const invalid = {
      ...client,
      grant_types: ['x'],
      client_uri: 'y',
      redirect_uris: ['ftp://z'],
      response_types: [],
    };
    expect(await issuesOf({ clients: [invalid], resources: [notes] })).toEqual([
      expect.stringMatching(/^clients\.0\.client_uri must be an absolute http/),
      expect.stringMatching(/^clients\.0\.grant_types: none of them/),
      expect.stringMatching(/^clients\.0\.redirect_uris\.0 must not use the scheme ftp$/),
    ]);
  });

  it('reports all issues at once', async () => {
    const issues = await issuesOf({
      issuer: 'x',
      masterKey: new Uint8Array(1),
      resources: [],
      lifetimes: { code: -1 },
      clients: [{}],
    });
    expect(issues).toEqual([
      'issuer must be an absolute https URL',
      'masterKey must be 32 bytes long',
      'clients.0.client_id is required',
      expect.stringMatching(/^lifetimes\.code must be a whole number of seconds/),
      'resources must have at least one protected resource',
      'clients.0.redirect_uris: name at least one',
    ]);
  });

  it('[ALL-DCR-1 AS-REG-1] treats a client without secret and method as public', async () => {
    expect(await issuesOf({ clients: [client], resources: [notes] })).toEqual([]);
  });
});
