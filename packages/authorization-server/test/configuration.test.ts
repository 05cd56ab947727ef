/** Configuration: judged once, at birth, with every fault in one error that says where. */
import { openStore } from '@portcullis/store';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type AuthorizationServerOptions,
  ConfigurationError,
  createAuthorizationServer,
} from '../src/index.ts';
import { CALLBACK, CLIENTS, ISSUER, NOTES, RESOURCES, SEALING_KEY } from './server-under-test.ts';

const store = await openStore(':memory:');
afterAll(() => store.close());
const good: AuthorizationServerOptions = {
  issuer: ISSUER,
  store,
  masterKey: SEALING_KEY,
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

const THIRD_PARTY = {
  id: 'example',
  name: 'Example',
  clientId: 'us',
  scopes: ['openid'],
  kind: { issuer: 'https://id.example' },
};
const SECRET = 'a secret of thirty-two characters';
const notes = { resource: NOTES, name: 'Notes', scopes: { 'notes:read': 'Read your notes' } };
const client = { client_id: 'c', redirect_uris: [CALLBACK] };

describe('a configuration', () => {
  it('without faults is taken', async () => {
    expect(await issuesOf({})).toEqual([]);
    expect(await issuesOf({ issuer: 'http://localhost:8484' })).toEqual([]);
    expect(await issuesOf({ issuer: 'https://as.example/tenant' })).toEqual([]);
  });

  it.each<[string, Partial<AuthorizationServerOptions>, RegExp]>([
    ['[AS-HTTPS-1] a plain http issuer', { issuer: 'http://as.example' }, /^issuer must use https/],
    ['[AS-META-60] an issuer with a query', { issuer: 'https://as.example?x' }, /^issuer must have no query/],
    ['[AS-META-60] an issuer with a fragment', { issuer: 'https://as.example#x' }, /^issuer must have no query and no fragment/],
    ['no issuer', { issuer: '' }, /^issuer must be/],
    ['a short sealing key', { masterKey: new Uint8Array(31) }, /^masterKey must be 32 bytes/],
    ['[AS-TTL-3] tokens that live for no time', { lifetimes: { accessToken: 0 } }, /^lifetimes\.accessToken must/],
    ['[AS-TTL-3] tokens that live for ever', { lifetimes: { grant: Number.POSITIVE_INFINITY } }, /^lifetimes\.grant must/],
    ['half seconds', { lifetimes: { refreshGrace: 0.5 } }, /^lifetimes\.refreshGrace must/],
    ['no resource', { resources: [] }, /^resources must name at least one/],
    ['a resource that is not canonical', { resources: [{ ...notes, resource: 'https://MCP.example/' }] }, /^resources\.0\.resource must be a canonical/],
    ['an end within no time', { resources: [{ ...notes, revocationDelay: -1 }] }, /^resources\.0\.revocationDelay must be whole seconds/],
    ['a resource twice', { resources: [notes, notes] }, /^resources\.1\.resource stands there twice/],
    ['a scope that is none', { resources: [{ ...notes, scopes: { 'a b': 'A' } }] }, /^resources\.0\.scopes: "a b" is no scope/],
    ['an unknown default scope', { resources: [{ ...notes, defaultScopes: ['x'] }] }, /^resources\.0\.defaultScopes: x/],
    ['an unknown scope in the hierarchy', { resources: [{ ...notes, hierarchy: { 'notes:read': ['x'] } }] }, /^resources\.0\.hierarchy: x/],
    ['an unknown introspecting client', { resources: [{ ...notes, introspectionClients: ['x'] }] }, /^resources\.0\.introspectionClients: "x"/],
    ['a public introspecting client', { resources: [{ ...notes, introspectionClients: ['desktop'] }] }, /^resources\.0\.introspectionClients: "desktop"/],
    ['a translation into another language', { resources: [{ ...notes, translations: { fr: { name: 'Cahiers' } } as object }] }, /^resources\.0\.translations\.fr is no language/],
    ['a translation of no scope', { resources: [{ ...notes, translations: { de: { scopes: { x: 'X' } } } }] }, /^resources\.0\.translations\.de\.scopes: "x"/],
    ['a translation without words', { resources: [{ ...notes, translations: { de: { scopes: { 'notes:read': ' ' } } } }] }, /^resources\.0\.translations\.de\.scopes: notes:read must be a text/],
    ['a headless mode without a page', { externalUi: { secrets: [SECRET] } }, /^externalUi must name a loginUrl/],
    ['a headless mode over plain http', { externalUi: { loginUrl: 'http://app.example/login', secrets: [SECRET] } }, /^externalUi\.loginUrl must be an https/],
    ['a headless page that is a script', { externalUi: { consentUrl: 'javascript:alert(1)', secrets: [SECRET] } }, /^externalUi\.consentUrl must be an https/],
    ['a headless mode without a secret', { externalUi: { loginUrl: 'https://app.example/login', secrets: [] } }, /^externalUi\.secrets must have at least one/],
    ['a headless mode with a short secret', { externalUi: { loginUrl: 'https://app.example/login', secrets: [SECRET, 'short'] } }, /^externalUi\.secrets must each have at least 32/],
    ['a headless mode that makes accounts but signs nobody in', { externalUi: { consentUrl: 'https://app.example/consent', secrets: [SECRET], createAccounts: true } }, /^externalUi\.createAccounts is for/],
    ['two ways to sign in elsewhere', { externalUi: { loginUrl: 'https://app.example/login', secrets: [SECRET] }, identityProviders: [THIRD_PARTY] }, /^externalUi\.loginUrl and identityProviders: choose one/],
    ['a client without identifier', { clients: [{ redirect_uris: [CALLBACK] }] }, /^clients\.0: client_id/],
    ['a client that is no object', { clients: [null] }, /^clients\.0: /],
    ['[AS-JWT-64] a client that looks like an account', { clients: [{ ...client, client_id: 'user_1' }] }, /^clients\.0: client_id must not start with user_/],
    ['a client with a control character', { clients: [{ ...client, client_id: 'a\nb' }] }, /^clients\.0: client_id must be printable/],
    ['a client with a scope that no resource has', { clients: [{ ...client, scope: 'notes:read notes:raed' }] }, /^clients\.0: scope: no resource has "notes:raed"$/],
    ['a client twice', { clients: [client, client] }, /^clients\.1: client_id: c stands there twice/],
    ['a secret that no method sends', { clients: [{ ...client, client_secret: 's', token_endpoint_auth_method: 'none' }] }, /^clients\.0: client_secret goes with/],
    ['a method without its secret', { clients: [{ ...client, token_endpoint_auth_method: 'client_secret_basic' }] }, /^clients\.0: client_secret goes with/],
    ['[AS-GRANT-3] a public client with client credentials', { clients: [{ client_id: 'c', grant_types: ['client_credentials'] }] }, /^clients\.0: .*client_credentials needs/],
    ['[AS-REDIR-5] a client with a script as redirect URI', { clients: [{ ...client, redirect_uris: ['javascript:alert(1)'] }] }, /^clients\.0: redirect_uris\.0/],
  ])('with %s is refused, and the fault names the place', async (_what, options, issue) => {
    const resources = options.clients === undefined ? {} : { resources: [notes] };
    expect(await issuesOf({ ...resources, ...options })).toEqual([expect.stringMatching(issue)]);
  }); // biome-ignore format: a table

  it.each<[Record<string, unknown>, readonly string[]]>([
    [{ lifetime: { code: 60 } }, ['lifetime is no option: did you mean lifetimes?']],
    [{ lifetimes: { accesToken: 60 }, keys: { rotateEvry: 1 } }, ['keys.rotateEvry is no option: did you mean rotateEvery?', 'lifetimes.accesToken is no option: did you mean accessToken?']],
    [{ resources: [{ ...notes, requireScopes: [] }] }, ['resources.0.requireScopes is no option: did you mean requiredScopes?']],
    [{ identityProviders: [{ ...THIRD_PARTY, alowedUsers: {}, allowedUsers: { subject: ['1'] } }] }, ['identityProviders.0.alowedUsers is no option: did you mean allowedUsers?', 'identityProviders.0.allowedUsers.subject is no option: did you mean subjects?']],
    [{ registration: { requireInitialAcessToken: true }, metadataDocuments: { host: ['a.example'] } }, ['registration.requireInitialAcessToken is no option: did you mean requireInitialAccessToken?', 'metadataDocuments.host is no option: did you mean hosts?']],
    [{ outbound: { allowLopback: true }, externalUi: { loginUrl: 'https://a.example/', secrets: [SECRET], login: '' } }, ['outbound.allowLopback is no option: did you mean allowLoopback?', expect.stringMatching(/^externalUi\.login is no option: /) as never]],
    [{ brand: { accents: {}, accent: { night: '#000000' }, links: [{ label: 'x', href: 'https://a.example', title: 'y' }] } }, ['brand.accents is no option: did you mean accent?', 'brand.accent.night is no option: did you mean light?', 'brand.links.0.title is no option: use label, href']],
    [{ rateLimits: { signins: { burst: 1, perMinute: 1 }, refreshes: { burst: 1, perMinute: 1, perHour: 1 } } }, ['rateLimits.signins is no option: did you mean signIns?', 'rateLimits.refreshes.perHour is no option: use burst, perMinute']],
  ])('has no other options than there are: %j', async (options, issues) => {
    const found = await issuesOf({ resources: [notes], clients: [], ...options } as never);
    expect(found).toEqual(expect.arrayContaining([...issues]));
    expect(found.filter((issue) => issue.includes(' is no option: '))).toHaveLength(issues.length);
    // What they were meant as is good.
    expect(await issuesOf({ resources: [notes], clients: [], identityProviders: [THIRD_PARTY], lifetimes: { accessToken: 60 } })).toEqual([]);
  }); // biome-ignore format: a table

  it('tells all faults of a client, and none that follows from another', async () => {
    const faulty = {
      ...client,
      grant_types: ['x'],
      client_uri: 'y',
      redirect_uris: ['ftp://z'],
      response_types: [],
    };
    expect(await issuesOf({ clients: [faulty], resources: [notes] })).toEqual([
      expect.stringMatching(/^clients\.0: client_uri: must be an absolute http/),
      expect.stringMatching(/^clients\.0: grant_types: none of them/),
      expect.stringMatching(/^clients\.0: redirect_uris\.0: must not use the scheme ftp$/),
    ]);
  });

  it('tells all its faults at once', async () => {
    const issues = await issuesOf({
      issuer: 'x',
      masterKey: new Uint8Array(1),
      resources: [],
      lifetimes: { code: -1 },
      clients: [{}],
    });
    expect(issues).toHaveLength(5);
  });

  it('[ALL-DCR-1 AS-REG-1] makes a client without secret and method a public one', async () => {
    expect(await issuesOf({ clients: [client], resources: [notes] })).toEqual([]);
  });
});
